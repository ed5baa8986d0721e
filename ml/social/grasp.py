"""Between the GRASP files and a scene: a gaze file becomes a `Scene`, events become an events file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ml.formats.grasp_events import EventRecord, EventsFile, identifiers
from ml.formats.grasp_gaze import GazeFile
from ml.social.event import SocialEvent
from ml.social.scene import NONE, OFF, Scene, hold, lookup

ASSUMED_ASPECT = 16 / 9


def scene_of(gaze: GazeFile) -> Scene:
    """The scene of a gaze file.

    A face box counts unless the file says `face_detected: false` or the box is empty. `inout` is the in-frame share; a
    gaze point without it counts as inside the picture. A face whose gaze the file puts outside the picture has kind
    off. Confidence is 1 throughout, the layout has none. Without `width` and `height` the picture is taken as 16:9
    (only `strict` looks at its shape); without `shots` the whole file is one shot, and samples outside all shots are
    shots of their own.
    """
    persons = np.unique(gaze.row_person)
    shots, bounds = _shots(gaze)
    aspect = gaze.width / gaze.height if gaze.width and gaze.height else ASSUMED_ASPECT
    scene = Scene.empty(gaze.frames, gaze.times, shots, persons, aspect)
    scene.ends, scene.end_times = hold(gaze.frames, gaze.times, shots, bounds=bounds)
    at = (gaze.row_sample, lookup(persons, gaze.row_person))
    area = np.prod(gaze.face[:, 2:] - gaze.face[:, :2], axis=1)
    has_face = (area > 0) & (gaze.face_detected != 0.0)
    pointed = np.isfinite(gaze.gaze).all(axis=1)
    inframe = np.where(np.isnan(gaze.inout), pointed.astype(float), gaze.inout)
    scene.face[at] = np.where(has_face[:, None], gaze.face, np.nan)
    scene.gaze[at] = gaze.gaze
    scene.inframe[at] = inframe
    scene.confidence[at] = 1.0
    scene.kind[at] = np.where(has_face & (gaze.inout < 0.5), OFF, NONE)
    scene.present[at] = True
    return scene


def _shots(gaze: GazeFile) -> tuple[Any, Any]:
    """Shot number int32[T] of each sample and the end frame int64[T] of its shot."""
    count = len(gaze.frames)
    last = int(gaze.frames[-1]) + 1 if count else 0
    total = max(last, gaze.total_frames) if gaze.total_frames else np.iinfo(np.int64).max
    if not gaze.shots:
        return np.zeros(count, dtype=np.int32), np.full(count, total)
    edges = np.array(gaze.shots).ravel()
    place = np.searchsorted(edges, gaze.frames, side="right")
    bound = np.append(edges, total)[place]
    return place.astype(np.int32), bound


def events_file(gaze: GazeFile, events: Sequence[SocialEvent], extra: dict[str, Any], *, inclusive: bool) -> EventsFile:
    """The events file. `inclusive` writes the released form, in which `end_frame` is the last sample's frame and equals
    `start_frame` for an event of zero length; otherwise `end_frame` is the half-open end."""
    numbers = identifiers([event.type for event in events])
    records = [
        EventRecord(
            event_id=number,
            event_type=event.type,
            start_time=event.start_s,
            end_time=event.end_s,
            start_frame=event.start,
            end_frame=event.details["last_sample"] if inclusive else event.end,
            confidence=event.confidence,
            persons_involved=event.persons,
            details=event.details,
        )
        for number, event in zip(numbers, events, strict=True)
    ]
    return EventsFile(
        video_path=gaze.video_path, video_fps=gaze.video_fps, sample_fps=gaze.sample_fps, events=records, extra=extra
    )
