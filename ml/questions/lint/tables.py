"""Event tables beside the items: GRASP events, gestures, graph and gaze files, by the video they are of.

A table becomes `Facts` on a clock of 100 frames a second, twice: with all events, and with those sure enough for
questions (gaze confidence >= 0.9, gesture >= 0.85, as GRASP asks from). A modality counts as marked over the whole
video when a file of it was given: absence in a file is taken as absence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ml.formats import grasp_events, grasp_gaze, grasp_gestures, grasp_graph
from ml.formats import jsonfields as read_as
from ml.formats.errors import FormatError
from ml.formats.grasp_items import Item
from ml.formats.jsonstream import files
from ml.questions.facts import Covered, Event, Facts, Person
from ml.questions.lint.recordings import stem

RATE = 100  # frames a second of the facts' clock
SURE = {"gaze": 0.9, "gesture": 0.85}
SAMPLE_FPS = 2.0
LONGEST = 12 * 3600.0  # seconds; a table beyond that is no video's
TAIL = 5.0  # seconds that GRASP adds to the last event's end for a video's length


@dataclass
class Table:
    """What is known of one video. `ids`: event ids of the files to events; `seen`: seconds at which each person is."""

    events: list[Event] = field(default_factory=list)
    ids: dict[str, Event] = field(default_factory=dict)
    modalities: set[str] = field(default_factory=set)
    persons: set[int] = field(default_factory=set)
    seen: dict[int, np.ndarray[Any, np.dtype[np.float64]]] = field(default_factory=dict)
    sample_fps: float = SAMPLE_FPS
    _facts: dict[bool, Facts] = field(default_factory=dict)

    def facts(self, *, sure: bool) -> Facts:
        """The facts with all events, or only with those sure enough to ask about; the same object if all are."""
        if not self._facts:
            kept = [event for event in self.events if event.confidence >= SURE[event.modality] - 1e-9]
            every = self._build(self.events)
            self._facts = {False: every, True: every if len(kept) == len(self.events) else self._build(kept)}
        return self._facts[sure]

    def _build(self, kept: list[Event]) -> Facts:
        frames = max((event.end for event in self.events), default=0) + round(TAIL * RATE)
        return Facts(
            seconds=np.arange(frames + 1) / RATE,
            step=max(1, round(RATE / self.sample_fps)),
            persons=[Person(str(number), number) for number in sorted(self.persons)],
            events=kept,
            coverage=[Covered(modality, 0, frames) for modality in sorted(self.modalities)],
        )

    def add(self, modality: str, type: str, start: float, end: float, roles: Iterable[tuple[int, str]],
            confidence: float, ids: Iterable[str], target: str = "", description: str = "") -> None:  # fmt: skip
        """One event of a file; one without length gets a single frame."""
        if end > LONGEST:
            raise FormatError(f"an event ends at {end:g} s, which is no time of a video.")
        first = math.floor(start * RATE + 0.5)
        pairs = tuple((str(person), role) for person, role in roles)
        event = Event(
            id=f"{modality}-{len(self.events)}",
            modality=modality,
            type=type,
            start=first,
            end=max(first + 1, math.floor(end * RATE + 0.5)),
            roles=pairs,
            confidence=confidence,
            target=target,
            description=description,
        )
        self.events.append(event)
        self.persons |= {int(person) for person, _ in pairs}
        for id in ids:
            self.ids.setdefault(id, event)


class Tables:
    """Tables by recording."""

    def __init__(self) -> None:
        self.by_name: dict[str, Table] = {}

    def table(self, name: str) -> Table:
        return self.by_name.setdefault(stem(name), Table())

    def of(self, item: Item) -> Table | None:
        """The table of the item's video, by any of the names it goes by."""
        for name in (item.video_name, item.video_id, item.clip_file):
            if name and (found := self.by_name.get(stem(name))) is not None:
                return found
        return None


def read(paths: Iterable[Path]) -> Tables:
    """All files (or folders of files). Raises FormatError naming file and place."""
    tables = Tables()
    for path in paths:
        for file in files(path):
            try:
                _add(tables, file.read_bytes())
            except OSError as error:
                raise FormatError(f"{file.name} cannot be read ({error.strerror}).") from error
            except FormatError as error:
                raise FormatError(f"{file.name}: {error}") from error
    return tables


def _add(tables: Tables, data: bytes) -> None:
    tree = read_as.mapping(read_as.load(data), "the file")
    if "gestures" in tree:
        _gestures(tables, grasp_gestures.parse(data))
    elif "cross_modal_pairs" in tree:
        _graph(tables, grasp_graph.parse(data))
    elif "events" in tree:  # before gaze: what the studio writes says in `frames` how many the video has
        _events(tables, grasp_events.parse(data))
    elif "frames" in tree:
        _gaze(tables, grasp_gaze.parse(data))
    else:
        raise FormatError("this is no events, gestures, graph or gaze file: none of their lists is in it.")


def _events(tables: Tables, file: grasp_events.EventsFile) -> None:
    table = tables.table(file.video_path)
    table.modalities.add("gaze")
    table.sample_fps = min(table.sample_fps, file.sample_fps)
    for event in file.events:
        roles = gaze_roles(event.event_type, event.persons_involved, event.details.get("leader_id"))
        table.add("gaze", event.event_type, event.start_time, event.end_time, roles, event.confidence,
                  [str(event.event_id)])  # fmt: skip


def gaze_roles(type: str, persons: tuple[int, ...], leader: Any) -> list[tuple[int, str]]:
    """Roles of a gaze event; a following without a named leader has members only, so nobody is taken for one."""
    if type == "gaze_following" and leader in persons and not isinstance(leader, bool):
        return [(person, "leader" if person == leader else "follower") for person in persons]
    return [(person, "member") for person in persons]


def _gestures(tables: Tables, file: grasp_gestures.GesturesFile) -> None:
    table = tables.table(file.video_path)
    table.modalities.add("gesture")
    for at, one in enumerate(file.gestures):
        target = [(one.target_person_id, "target")] if one.target_person_id is not None else []
        ids = [str(one.extra[key]) for key in ("gesture_id", "event_id", "id") if key in one.extra]
        table.add("gesture", one.gesture_type, one.start_time, one.end_time, [(one.initiator_id, "initiator"), *target],
                  one.confidence, [*ids, f"gesture {at}"], one.target_type, one.target_description)  # fmt: skip


def _graph(tables: Tables, file: grasp_graph.GraphFile) -> None:
    table = tables.table(file.video_name)
    table.modalities |= {"gaze", "gesture"}
    for at, one in enumerate(file.events):
        if one.source == "gaze":
            roles = gaze_roles(one.type, one.persons_involved, one.leader_id)
        else:
            roles = list(zip(one.persons_involved, ("initiator", "target"), strict=False))
        ids = [str(one.extra[key]) for key in ("event_id", "gesture_id", "id") if key in one.extra]
        table.add(one.source, one.type, one.start_time, one.end_time, roles, one.confidence, [*ids, f"graph {at}"],
                  one.target_type, one.target_description)  # fmt: skip


def _gaze(tables: Tables, file: grasp_gaze.GazeFile) -> None:
    """Who is in the picture when: times of the samples in which each person is listed."""
    table = tables.table(file.video_path)
    table.sample_fps = min(table.sample_fps, file.sample_fps)
    for person in np.unique(file.row_person).tolist():
        table.seen[int(person)] = file.times[file.row_sample[file.row_person == person]]
        table.persons.add(int(person))
