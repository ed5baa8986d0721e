"""From stored samples, tracklets and corrections to proposals. Reads Parquet: imported by workers only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ml.social.events import detect_samples
from ml.social.scene import CAMERA, OBJECT, OFF, PERSON, SCENE, UNUSABLE, Correction
from webapp.events.models import GazeCorrection
from webapp.library.frames import frame_seconds
from webapp.library.models import Video
from webapp.tracks.models import Run
from webapp.tracks.samples import samples_of

Row = dict[str, Any]
CODES = {"point": SCENE, "person": PERSON, "object": OBJECT, "camera": CAMERA, "off": OFF, "unusable": UNUSABLE}


def propose(
    *,
    video: Video,
    run: Run,
    tracklets: Sequence[tuple[int, int, int, str]],
    roots: Mapping[str, str],
    preset: str,
    min_confidence: float | None,
) -> list[Row]:
    """Social events of a run, as machine rows: type, start, end, confidence, roles, details, preset, run.

    `tracklets`: (track, start, end, person id) of the run; `roots`: person id -> id of whom it was merged into, for all
    persons. The run need not be the video's, nor in the database yet: its samples are stored.
    """
    persons = sorted(set(roots.values()))
    number = {person: index for index, person in enumerate(persons)}
    owners = sorted((start, track, end, number[roots[person]]) for track, start, end, person in tracklets)
    shots = [shot["start"] for shot in run.manifest["shots"]]
    found = detect_samples(
        samples_of(run),
        person_of=np.array(owners, np.int64).reshape(-1, 4)[:, [1, 0, 2, 3]],
        seconds=frame_seconds(video, run.folder),
        shot_ends=[*shots[1:], video.frames],
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


def _correction(correction: GazeCorrection, number: Mapping[str, int], roots: Mapping[str, str]) -> Correction:
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
