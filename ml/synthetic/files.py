"""The files of the GRASP layout that belong to a drawn scene: gaze, gaze events and gestures.

All three tell what the scene was drawn from, none what a detector found; each says so in its head. Frames are
half-open, persons go by number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ml.formats.grasp_events import EventRecord, EventsFile, identifiers
from ml.formats.grasp_gaze import GazeFile
from ml.formats.grasp_gestures import GestureRecord, GesturesFile
from ml.social import event as types
from ml.synthetic.motion import Motion
from ml.synthetic.table_talk import FPS, HEIGHT, WIDTH, Scene
from ml.synthetic.truth import Happening, happenings

STEP = 5  # frames between two samples of the gaze file
ORIGIN = "drawn: what the scene was drawn from, not what a detector found"
FACE, BODY = (46.0, 58.0), (92.0, 76.0, 262.0)  # half width and height; half width, above and below the head's centre


def gaze_file(scene: Scene, motion: Motion, path: str) -> GazeFile:
    """Everybody's boxes and gaze point, five times a second."""
    truth = scene.truth
    frames = np.arange(0, truth.frames, STEP)
    samples, persons = len(frames), truth.persons
    head = motion.head[frames].reshape(-1, 2)
    scale = np.tile(motion.scale, samples)[:, None]
    size = np.array([WIDTH, HEIGHT], float)
    face = np.concatenate([head - FACE * scale, head + FACE * scale], axis=1) / np.tile(size, 2)
    below = head + np.array([BODY[0], BODY[2]]) * scale
    body = np.concatenate([head - np.array(BODY[:2]) * scale, below], axis=1) / np.tile(size, 2)
    point = motion.eyes[frames].reshape(-1, 2) / size
    inside = ((point >= 0) & (point <= 1)).all(axis=1)
    numbers = np.tile(np.array(truth.numbers), samples)
    return GazeFile(
        video_path=path,
        video_fps=float(FPS),
        sample_fps=FPS / STEP,
        total_frames=truth.frames,
        processed_frames=samples,
        persons_summary={str(number): _summary(number, samples) for number in truth.numbers},
        frames=frames.astype(np.int64),
        times=truth.seconds[frames],
        row_sample=np.repeat(np.arange(samples), persons),
        row_person=numbers.astype(np.int64),
        body=np.clip(body, 0.0, 1.0),
        face=np.clip(face, 0.0, 1.0),
        head=np.clip(face, 0.0, 1.0),
        gaze=point,
        inout=inside.astype(float),
        face_detected=np.ones(len(numbers)),
        width=WIDTH,
        height=HEIGHT,
        extra={"origin": ORIGIN},
    )


def _summary(number: int, samples: int) -> dict[str, Any]:
    return {"person_id": number, "track_length": samples, "face_detection_pct": 100.0, "inframe_gaze_pct": 100.0}


def events_file(scene: Scene, path: str) -> EventsFile:
    """The gaze events of the scene; `end_frame` is the half-open end."""
    found = [event for event in happenings(scene.truth) if event.modality == "gaze"]
    numbers = identifiers([event.type for event in found])
    return EventsFile(
        video_path=path,
        video_fps=float(FPS),
        sample_fps=float(FPS),
        events=[_event(scene, event, number) for event, number in zip(found, numbers, strict=True)],
        extra={"origin": ORIGIN},
    )


def _event(scene: Scene, event: Happening, number: int) -> EventRecord:
    truth = scene.truth
    by_role = {role: truth.numbers[column] for column, role in event.roles}
    details = {"duration": round(float(truth.seconds[event.end] - truth.seconds[event.start]), 3)}
    if event.type == types.FOLLOWING:
        details |= {"leader_id": by_role["leader"], "follower_id": by_role["follower"]}
    return EventRecord(
        event_id=number,
        event_type=event.type,
        start_time=float(truth.seconds[event.start]),
        end_time=float(truth.seconds[event.end]),
        start_frame=event.start,
        end_frame=event.end,
        confidence=1.0,
        persons_involved=tuple(truth.numbers[column] for column, _ in event.roles),
        details=details,
    )


def gestures_file(scene: Scene, path: str) -> GesturesFile:
    """The gestures of the scene."""
    found = [event for event in happenings(scene.truth) if event.modality == "gesture"]
    return GesturesFile(
        video_path=path,
        gestures=[_gesture(scene, event) for event in found],
        classifier_version=ORIGIN,
    )


def _gesture(scene: Scene, event: Happening) -> GestureRecord:
    truth = scene.truth
    place = truth.place(event.reach)
    return GestureRecord(
        gesture_type=event.type,
        initiator_id=truth.numbers[event.roles[0][0]],
        start_time=float(truth.seconds[event.start]),
        end_time=float(truth.seconds[event.end]),
        target_type=place.kind if place else "person",
        target_person_id=None if place else truth.numbers[event.reach],
        target_description=place.description if place else "",
        confidence=1.0,
        start_frame=event.start,
        end_frame=event.end,
    )
