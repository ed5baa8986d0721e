"""How a question is printed: people by their numbers, moments by the clock of the video or of the clip."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from ml.formats.errors import FormatError
from ml.questions.slots import render
from webapp.bench.models import Clip
from webapp.events.models import ROLES
from webapp.library.frames import frame_seconds
from webapp.library.models import Video
from webapp.tracks.models import Person

Clock = Callable[[int], float]


def names_of(videos: Iterable[UUID]) -> dict[str, str]:
    """Person id -> "Person N" for everybody of these videos: one query. Somebody merged goes by the other's number."""
    rows = Person.objects.filter(video__in=list(videos)).values_list("id", "number", "merged_into_id")
    found = {person: (number, into) for person, number, into in rows}

    def number_of(person: UUID) -> int:
        number, into = found[person]
        return number if into is None else number_of(into)

    return {str(person): f"Person {number_of(person)}" for person in found}


def seconds_of(video: Video) -> NDArray[np.float64]:
    """Media seconds of every frame and the end of the last, as `frame_seconds`."""
    return frame_seconds(video)


def clock_from(seconds: NDArray[np.float64], start: int = 0) -> Clock:
    """Frame -> seconds since the frame `start` is shown; of the first frame: the video's exported seconds."""
    last = len(seconds) - 1

    def clock(frame: int) -> float:
        if frame > last:
            raise FormatError(f"Frame {frame} lies behind the video's {last} frames.")
        return float(seconds[frame] - seconds[start])

    return clock


def printed(text: str, names: Mapping[str, str], clock: Clock) -> str:
    """The text with its slots filled; a text that cannot be printed says why in its place, and breaks no page."""
    try:
        return render(text, names, clock)
    except FormatError as error:
        return f"[{error}]"


def words_and_moments(text: str, names: Mapping[str, str], seconds: NDArray[np.float64]) -> tuple[str, list[float]]:
    """A text with its people filled in and its moments left open, and the moments in order, in media seconds."""
    moments: list[float] = []

    def note(frame: int) -> float:
        moments.append(float(seconds[min(frame, len(seconds) - 1)]))
        return float(len(moments))  # as many moments give the same words

    return printed(text, names, note), moments


def clip_row(clip: Clip | None) -> dict[str, Any] | None:
    """A cut clip as pages get it."""
    if clip is None:
        return None
    return {
        "id": str(clip.id),
        "start": clip.start,
        "end": clip.end,
        "rendering": clip.rendering,
        "url": f"/clips/{clip.id}/clip.mp4",
        "ready": clip.ready,
        "error": clip.error,
    }


def sentence_of(marks: Iterable[Mapping[str, Any]], names: Mapping[str, str], clock: Clock) -> str:
    """What a proof rests on, for reviewers: "Rests on mutual gaze of Person 0 and Person 2 (3.0 to 5.0 s of the
    video)."; the question beside it may count from the start of its clip."""
    told: list[str] = []
    for mark in marks:
        parts = [(ROLES.index(role), names.get(person, "somebody"), role) for person, role in mark["participants"]]
        people = [name if role == "member" else f"{name} ({role})" for _, name, role in sorted(parts)]
        who = f"{', '.join(people[:-1])} and {people[-1]}" if len(people) > 1 else "".join(people)
        span = f"{clock(mark['start']):.1f} to {clock(mark['end']):.1f} s{'' if told else ' of the video'}"
        told.append(f"{mark['type'].replace('_', ' ')} of {who or 'nobody'} ({span})")
    return f"Rests on {'; '.join(told)}." if told else ""
