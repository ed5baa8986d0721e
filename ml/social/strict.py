"""The strict detectors of sudden shifts and mutual gaze, and the list of all five."""

from __future__ import annotations

from itertools import repeat

import numpy as np

from ml.social.arrivals import captures, find_arrivals, followings
from ml.social.event import MUTUAL, SHIFT, SocialEvent, members
from ml.social.features import displacement
from ml.social.joint import joint_attention
from ml.social.looks import Looks
from ml.social.presets import Strict
from ml.social.scene import Ints, Scene


def detect(scene: Scene, preset: Strict) -> list[SocialEvent]:
    """All events of the strict rules, in no particular order."""
    if len(scene.frames) == 0 or len(scene.persons) == 0:
        return []
    looks = Looks.of(scene, preset)
    arrivals = find_arrivals(looks)
    return [
        *shifts(looks),
        *joint_attention(looks),
        *followings(looks, arrivals),
        *captures(looks, arrivals),
        *mutual_gaze(looks),
    ]


def shifts(looks: Looks) -> list[SocialEvent]:
    """Runs in which the gaze, relative to the face, is far from where it was half a second before.

    A run starts with a displacement of at least `shift_displacement`, goes on (both ways) while it stays above
    `shift_stay`, and is sudden when it is not longer than `shift_longest_s`.
    """
    preset = looks.preset
    events: list[SocialEvent] = []
    for column, moved in enumerate(displacement(looks.scene, looks.filled, preset)):
        found = looks.runs(np.flatnonzero(moved >= preset.shift_stay), preset.shift_bridge_s)
        peaks, sure = found.highest(moved[found.samples]), found.mean(looks.confidence[column, found.samples])
        sudden = found.seconds <= preset.shift_longest_s + preset.time_slack_s
        kept = sudden & (peaks >= preset.shift_displacement)
        first, last, peak, certain, count = found.only(kept, peaks, sure, found.sizes)
        confidence = certain * np.minimum(1.0, peak / (2 * preset.shift_displacement))
        roles = repeat(members([looks.person(column)]), len(first))
        details = (
            {
                "max_displacement": furthest,
                "max_velocity": furthest / preset.window_s,
                "threshold": preset.shift_displacement,
                "window_s": preset.window_s,
                "longest_s": preset.shift_longest_s,
                "num_samples": samples,
            }
            for furthest, samples in zip(peak.tolist(), count.tolist(), strict=True)
        )
        events += looks.events(SHIFT, first, last, confidence, roles, details)
    return events


def mutual_gaze(looks: Looks) -> list[SocialEvent]:
    """Two persons who look at each other: by their stated targets, or by points in each other's face boxes."""
    count = len(looks.scene.persons)
    aim = np.where(looks.sure, looks.target, -1)
    events: list[SocialEvent] = []
    for one in range(count):
        for other in range(one + 1, count):
            met = np.flatnonzero((aim[one] == other) & (aim[other] == one))
            events += _mutual_pair(looks, met, one, other)
    return events


def _mutual_pair(looks: Looks, met: Ints, one: int, other: int) -> list[SocialEvent]:
    preset = looks.preset
    found = looks.runs(met, preset.bridge_s)
    sure = found.mean(np.minimum(looks.confidence[one, met], looks.confidence[other, met]))
    kept = found.seconds >= preset.mutual_shortest_s - preset.time_slack_s
    first, last, confidence, count = found.only(kept, sure, found.sizes)
    roles = repeat(members([looks.person(one), looks.person(other)]), len(first))
    details = (
        {"threshold": preset.mutual_shortest_s, "bridge_s": preset.bridge_s, "num_samples": samples}
        for samples in count.tolist()
    )
    return looks.events(MUTUAL, first, last, confidence, roles, details)
