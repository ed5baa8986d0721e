"""The strict detectors of sudden shifts and mutual gaze, and the list of all five."""

from __future__ import annotations

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
    moved = displacement(looks.scene, looks.filled, preset)
    events = []
    for column in range(moved.shape[1]):
        going = np.flatnonzero(moved[:, column] >= preset.shift_stay)
        for run in looks.runs(going, preset.shift_bridge_s):
            peak = float(moved[run, column].max())
            duration = looks.duration(run[0], run[-1])
            if peak < preset.shift_displacement or duration > preset.shift_longest_s + preset.time_slack_s:
                continue
            confidence = looks.filled.confidence[run, column].mean() * min(1.0, peak / (2 * preset.shift_displacement))
            details = {
                "max_displacement": peak,
                "max_velocity": peak / preset.window_s,
                "threshold": preset.shift_displacement,
                "window_s": preset.window_s,
                "longest_s": preset.shift_longest_s,
                "num_samples": len(run),
            }
            events.append(looks.event(SHIFT, run[0], run[-1], confidence, members([looks.person(column)]), details))
    return events


def mutual_gaze(looks: Looks) -> list[SocialEvent]:
    """Two persons who look at each other: by their stated targets, or by points in each other's face boxes."""
    count = len(looks.scene.persons)
    aim = np.where(looks.sure, looks.target, -1)
    events = []
    for one in range(count):
        for other in range(one + 1, count):
            met = np.flatnonzero((aim[:, one] == other) & (aim[:, other] == one))
            events += _mutual_pair(looks, met, one, other)
    return events


def _mutual_pair(looks: Looks, met: Ints, one: int, other: int) -> list[SocialEvent]:
    preset = looks.preset
    events = []
    for run in looks.runs(met, preset.bridge_s):
        if looks.duration(run[0], run[-1]) < preset.mutual_shortest_s - preset.time_slack_s:
            continue
        confidence = looks.filled.confidence[run][:, [one, other]].min(axis=1).mean()
        details = {
            "threshold": preset.mutual_shortest_s,
            "bridge_s": preset.bridge_s,
            "num_samples": len(run),
        }
        roles = members([looks.person(one), looks.person(other)])
        events.append(looks.event(MUTUAL, run[0], run[-1], confidence, roles, details))
    return events
