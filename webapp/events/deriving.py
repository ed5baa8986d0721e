"""From stored samples, tracklets and corrections to proposals. Reads Parquet: imported by workers only."""

from __future__ import annotations

from typing import Any

import numpy as np

from ml.social.events import detect_samples
from ml.social.scene import CAMERA, OBJECT, OFF, PERSON, SCENE, UNUSABLE, Correction
from webapp.events.models import GazeCorrection
from webapp.library.frames import frame_seconds
from webapp.library.models import Video
from webapp.tracks.models import Tracklet
from webapp.tracks.queries import roots_of
from webapp.tracks.samples import samples_of

Row = dict[str, Any]
CODES = {"point": SCENE, "person": PERSON, "object": OBJECT, "camera": CAMERA, "off": OFF, "unusable": UNUSABLE}


def propose(*, video: Video, preset: str, min_confidence: float | None) -> list[Row]:
    """Social events of the accepted run, as machine rows: type, start, end, confidence, roles, details, preset, run."""
    run = video.run
    assert run is not None
    roots = roots_of(video)
    persons = sorted(set(roots.values()))
    number = {person: index for index, person in enumerate(persons)}
    tracklets = np.array(
        [
            (t.track, t.start, t.end, number[roots[str(t.person_id)]])
            for t in Tracklet.objects.filter(run=run).order_by("start", "track")
        ],
        np.int64,
    ).reshape(-1, 4)
    found = detect_samples(
        samples_of(run),
        person_of=tracklets,
        seconds=frame_seconds(video),
        shot_ends=[*video.shots[1:], video.frames],
        aspect=video.width / video.height,
        corrections=[_correction(c, number, roots) for c in GazeCorrection.objects.filter(video=video)],
        preset=preset,
        min_confidence=min_confidence,
    )
    return [
        {
            "type": event.type,
            "start": int(event.start),
            "end": int(event.end),
            "confidence": round(float(event.confidence), 6),
            "roles": sorted([persons[person], role] for person, role in event.roles),
            "details": with_person_ids(event.details, persons),
            "preset": preset,
            "run": str(run.id),
        }
        for event in found
    ]


PERSON_KEYS = ("leader_id", "follower_id", "target_person")  # hold a person
PERSON_TABLES = ("person_velocities", "person_displacements", "person_arrivals_s")  # hold a number for each person


def with_person_ids(details: Row, persons: list[str]) -> Row:
    """The numbers behind a rule, with the page's person ids where the rule counts persons from 0."""
    told = dict(details)
    for key in PERSON_KEYS:
        if told.get(key) is not None:
            told[key] = persons[told[key]]
    for key in PERSON_TABLES:
        if key in told:
            told[key] = {persons[int(index)]: value for index, value in told[key].items()}
    return told


def _correction(correction: GazeCorrection, number: dict[str, int], roots: dict[str, str]) -> Correction:
    target = correction.target_person_id
    return Correction(
        person=number[roots[str(correction.person_id)]],
        start=correction.start,
        end=correction.end,
        kind=CODES[correction.kind],
        x=correction.x,
        y=correction.y,
        target_person=number[roots[str(target)]] if target else None,
    )
