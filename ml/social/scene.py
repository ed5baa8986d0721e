"""A scene: who is where and looks where, on sampled frames, as dense arrays over samples and persons.

Axes: T samples in time order, P persons. Picture coordinates are normalised [0, 1] (origin top left, y down), times are
seconds, frames are numbers of the source video. Samples may come at irregular times, persons may come and go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NONE, PERSON, OBJECT, SCENE, CAMERA, OFF, UNUSABLE = range(7)
KINDS = ("", "person", "object", "scene", "camera", "off", "unusable")

# A sample speaks for the time until the next one, but not beyond this many usual steps (nobody was sampled in between).
HOLD_STEPS = 1.5
TINY_S = 1e-6

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Correction(NamedTuple):
    """A human's word on one person's gaze over source frames [start, end).

    `kind` is a kind code. `x`, `y` (normalised) say where, unless `target_person` is given: then the gaze point is the
    centre of that person's face, frame by frame.
    """

    person: int
    start: int
    end: int
    kind: int
    x: float | None = None
    y: float | None = None
    target_person: int | None = None


@dataclass
class Scene:
    """Dense arrays of one video.

    `frames` int64[T], `times` float64[T] (seconds), `shots` int32[T] (shot number of each sample), `persons` int64[P]
    (ids), `gaze` float64[T, P, 2] (NaN none), `face` float64[T, P, 4] (x1, y1, x2, y2; NaN none), `inframe` and
    `confidence` float64[T, P] in [0, 1], `kind` uint8[T, P] (codes above), `target` int64[T, P] (person id or -1),
    `aspect` width / height.

    Derived when not given: `ends` int64[T] and `end_times` float64[T], the frame and time up to which a sample speaks
    (the next sample of the same shot, or one usual step, never beyond the shot); `present` bool[T, P], the person is
    listed on that sample; `human` bool[T, P], the gaze is a human's correction; `objects` int32[T, P], a number per
    object label (-1 none).
    """

    frames: Ints
    times: Floats
    shots: NDArray[np.int32]
    persons: Ints
    gaze: Floats
    face: Floats
    inframe: Floats
    confidence: Floats
    kind: NDArray[np.uint8]
    target: Ints
    aspect: float
    ends: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    end_times: Floats = field(default_factory=lambda: np.zeros(0))
    present: Bools = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    human: Bools = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    objects: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int32))

    def __post_init__(self) -> None:
        self._check()
        shape = (len(self.frames), len(self.persons))
        if self.ends.shape != shape[:1] or self.end_times.shape != shape[:1]:
            self.ends, self.end_times = hold(self.frames, self.times, self.shots)
        if self.present.shape != shape:
            self.present = np.isfinite(self.face).all(-1) | np.isfinite(self.gaze).all(-1) | (self.kind != NONE)
        if self.human.shape != shape:
            self.human = np.zeros(shape, dtype=bool)
        if self.objects.shape != shape:
            self.objects = np.full(shape, -1, dtype=np.int32)
        # One person's samples side by side in memory: most work goes along them, and is several times faster so.
        for name in ("gaze", "face", "inframe", "confidence", "kind", "target", "present", "human", "objects"):
            setattr(self, name, np.asfortranarray(getattr(self, name)))

    def _check(self) -> None:
        samples, persons = len(self.frames), len(self.persons)
        expected = {
            "times": (samples,),
            "shots": (samples,),
            "gaze": (samples, persons, 2),
            "face": (samples, persons, 4),
            "inframe": (samples, persons),
            "confidence": (samples, persons),
            "kind": (samples, persons),
            "target": (samples, persons),
        }
        for name, shape in expected.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"scene.{name}: expected shape {shape}, found {getattr(self, name).shape}.")
        if samples and not ((np.diff(self.frames) > 0).all() and (np.diff(self.times) > 0).all()):
            raise ValueError("scene.frames, scene.times: both must grow from sample to sample.")
        if not (np.isfinite(self.aspect) and self.aspect > 0):
            raise ValueError(f"scene.aspect: expected width / height above 0, found {self.aspect}.")

    @property
    def scale(self) -> Floats:
        """float64[2]: what turns normalised x, y into shares of the picture's longer side, equal in both directions."""
        return np.array([min(1.0, self.aspect), min(1.0, 1.0 / self.aspect)])

    @property
    def face_centre(self) -> Floats:
        """float64[T, P, 2], NaN where there is no face box."""
        return (self.face[..., :2] + self.face[..., 2:]) / 2

    def column_of(self, ids: NDArray[Any]) -> Ints:
        """Column (index into `persons`) of each person id, -1 for an id that is not in the scene."""
        return lookup(self.persons, np.asarray(ids))

    @classmethod
    def empty(cls, frames: Ints, times: Floats, shots: NDArray[np.int32], persons: Ints, aspect: float) -> Scene:
        """A scene in which nothing is known yet."""
        samples, count = len(frames), len(persons)
        return cls(
            frames=frames,
            times=times,
            shots=shots,
            persons=persons,
            gaze=np.full((samples, count, 2), np.nan),
            face=np.full((samples, count, 4), np.nan),
            inframe=np.zeros((samples, count)),
            confidence=np.zeros((samples, count)),
            kind=np.zeros((samples, count), dtype=np.uint8),
            target=np.full((samples, count), -1, dtype=np.int64),
            aspect=aspect,
        )

    @classmethod
    def from_samples(
        cls,
        columns: Mapping[str, NDArray[Any]],
        *,
        person_of: NDArray[Any],
        seconds: Floats,
        aspect: float,
        corrections: Sequence[Correction] = (),
        shot_ends: Sequence[int] | None = None,
    ) -> Scene:
        """The scene of one perception run, seen through who is who and what humans corrected.

        `columns` are those of `samples.parquet` (only rows with `sampled` count). `person_of` int64[K, 4] holds
        tracklets as (raw track, first frame, frame after the last, person id); rows outside every tracklet are left
        out. `seconds` float64[N + 1] is the time of every source frame and of the end of the last one. `shot_ends` is
        the end frame of every shot, indexed by the column `shot`; without it the next shot's first sample is the bound.
        When two rows claim one person on one frame, the one with a face and the higher confidence wins.
        """
        rows = _resolve(columns, np.asarray(person_of, dtype=np.int64).reshape(-1, 4))
        return _dense(rows, seconds, aspect, [Correction(*each) for each in corrections], shot_ends)

    @classmethod
    def each_shot(
        cls,
        columns: Mapping[str, NDArray[Any]],
        *,
        person_of: NDArray[Any],
        seconds: Floats,
        aspect: float,
        corrections: Sequence[Correction] = (),
        shot_ends: Sequence[int] | None = None,
    ) -> Iterator[Scene]:
        """As `from_samples`, one scene per shot with only that shot's persons: a long video of many short appearances
        never becomes one large table."""
        rows = _resolve(columns, np.asarray(person_of, dtype=np.int64).reshape(-1, 4))
        words = [Correction(*each) for each in corrections]
        edges = np.flatnonzero(np.diff(rows["shot"], prepend=-1, append=-1)) if len(rows["shot"]) else np.zeros(1, int)
        for start, stop in pairwise(edges.tolist()):
            part = {name: values[start:stop] for name, values in rows.items()}
            first, last = part["frame"][0], part["frame"][-1]
            own = [each for each in words if each.start <= last and each.end > first]
            yield _dense(part, seconds, aspect, own, shot_ends)

    def split(self) -> Iterator[Scene]:
        """The shots of the scene, each with the persons who are present in it."""
        edges = np.flatnonzero(np.diff(self.shots, prepend=self.shots[:1] - 1, append=self.shots[-1:] - 1))
        for start, stop in pairwise(edges.tolist()):
            at = slice(start, stop)
            who = np.flatnonzero((self.present[at] | self.human[at]).any(axis=0))
            whole = start == 0 and stop == len(self.frames) and len(who) == len(self.persons)
            yield self if whole else self._part(at, who)

    def _part(self, at: slice, who: Ints) -> Scene:
        tables = ("gaze", "face", "inframe", "confidence", "kind", "target", "present", "human", "objects")
        lists = ("frames", "times", "shots", "ends", "end_times")
        parts: dict[str, Any] = {name: getattr(self, name)[at][:, who] for name in tables}
        parts |= {name: getattr(self, name)[at] for name in lists}
        return Scene(persons=self.persons[who], aspect=self.aspect, **parts)


def hold(
    frames: Ints,
    times: Floats,
    shots: NDArray[np.int32],
    *,
    bounds: Ints | None = None,
    seconds: Floats | None = None,
) -> tuple[Ints, Floats]:
    """Frame int64[T] and time float64[T] up to which each sample speaks.

    That is the next sample of the same shot; where it is missing or more than 1.5 usual steps away, one usual step on.
    `bounds` int64[T] is the end frame of each sample's shot. Without `seconds` (see `Scene.from_samples`) the time of a
    frame between samples is interpolated, beyond them extrapolated at the usual rate.
    """
    count = len(frames)
    if count == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    together = shots[1:] == shots[:-1]
    steps, frame_steps = np.diff(times), np.diff(frames)
    step = float(np.median(steps[together])) if together.any() else 0.5
    frame_step = int(np.median(frame_steps[together])) if together.any() else 1
    rate = frame_step / step
    usual_end = times + step
    ends = _frames_at(usual_end, frames, times, rate, seconds)
    near = np.zeros(count, dtype=bool)
    near[:-1] = together & (steps <= HOLD_STEPS * step)
    limit = np.full(count, np.iinfo(np.int64).max)
    limit[:-1] = frames[1:]
    if bounds is not None:
        limit = np.minimum(limit, bounds)
    ends = np.maximum(np.minimum(ends, limit), frames + 1)
    if seconds is not None:
        ends = np.minimum(ends, len(seconds) - 1)
        end_times = seconds[ends]
    else:
        end_times = times + (ends - frames) / rate
        end_times[:-1] = np.minimum(end_times[:-1], times[1:])
    ends[:-1][near[:-1]] = frames[1:][near[:-1]]
    end_times[:-1][near[:-1]] = times[1:][near[:-1]]
    return ends, end_times


def lookup(known: Ints, ids: NDArray[Any]) -> Ints:
    """Position of each id in `known` (any order), -1 where it is not there."""
    if len(known) == 0:
        return np.full(ids.shape, -1, dtype=np.int64)
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known[order], ids), len(known) - 1)
    found = order[place]
    return np.where(known[found] == ids, found, -1)


def tracklet_of(person_of: Ints, tracks: Ints, frames: Ints) -> Ints:
    """Row of `person_of` int64[K, 4] (track, start, end, person) that holds each (track, frame), -1 for none.

    Tracklets of one track must not overlap.
    """
    if len(person_of) == 0:
        return np.full(tracks.shape, -1, dtype=np.int64)
    order = np.lexsort((person_of[:, 1], person_of[:, 0]))
    table = person_of[order]
    span = int(max(frames.max(initial=0), table[:, 2].max())) + 1
    place = np.searchsorted(table[:, 0] * span + table[:, 1], tracks * span + frames, side="right") - 1
    row = np.maximum(place, 0)
    inside = (place >= 0) & (table[row, 0] == tracks) & (table[row, 1] <= frames) & (frames < table[row, 2])
    return np.where(inside, order[row], -1)


def _frames_at(at: Floats, frames: Ints, times: Floats, rate: float, seconds: Floats | None) -> Ints:
    """First frame whose time is at least `at`."""
    if seconds is not None:
        return np.searchsorted(seconds, at - TINY_S).astype(np.int64)
    return np.rint(frames + (at - times) * rate).astype(np.int64)


def _resolve(columns: Mapping[str, NDArray[Any]], person_of: Ints) -> dict[str, NDArray[Any]]:
    """The sampled rows that belong to a person, with `person`, `code` and `target_person`; the best row comes last."""
    sampled = np.flatnonzero(np.asarray(columns["sampled"], dtype=bool))
    rows = {name: np.asarray(values)[sampled] for name, values in columns.items()}
    frames = rows["frame"].astype(np.int64)
    tracklet = tracklet_of(person_of, rows["track"].astype(np.int64), frames)
    aim = tracklet_of(person_of, rows["target_track"].astype(np.int64), frames)
    ids = person_of[:, 3] if len(person_of) else np.zeros(1, dtype=np.int64)
    rows["frame"] = frames
    rows["person"] = np.where(tracklet >= 0, ids[tracklet], -1)
    rows["target_person"] = np.where(aim >= 0, ids[aim], -1)
    rows["code"] = kind_codes(rows["target_kind"])
    kept = np.flatnonzero(tracklet >= 0)
    confidence = np.nan_to_num(rows["confidence"][kept].astype(np.float64), nan=-1.0)
    has_face = np.isfinite(rows["face_x1"][kept])
    order = kept[np.lexsort((rows["track"][kept], confidence, has_face, rows["person"][kept], rows["frame"][kept]))]
    return {name: values[order] for name, values in rows.items()}


def kind_codes(kinds: NDArray[Any]) -> NDArray[np.uint8]:
    """Codes uint8[n] of the kind words in a column of strings; an unknown word is an error."""
    words, inverse = np.unique(np.asarray(kinds).astype(str), return_inverse=True)
    unknown = [word for word in words if word not in KINDS]
    if unknown:
        raise ValueError(f"samples.target_kind: {str(unknown[0])!r} is not one of {', '.join(KINDS[1:])}.")
    return np.array([KINDS.index(word) for word in words], dtype=np.uint8)[inverse]


def _dense(
    rows: Mapping[str, NDArray[Any]],
    seconds: Floats,
    aspect: float,
    corrections: Sequence[Correction],
    shot_ends: Sequence[int] | None,
) -> Scene:
    """The scene of resolved rows."""
    frames, sample = np.unique(rows["frame"], return_inverse=True)
    corrected = np.array([each.person for each in corrections], dtype=np.int64)
    persons = np.union1d(rows["person"], corrected)
    shots = np.zeros(len(frames), dtype=np.int32)
    shots[sample] = rows["shot"]
    scene = Scene.empty(frames, seconds[frames], shots, persons, aspect)
    bounds = None if shot_ends is None else np.asarray(shot_ends, dtype=np.int64)[shots]
    scene.ends, scene.end_times = hold(frames, scene.times, shots, bounds=bounds, seconds=seconds)
    _place(scene, sample, lookup(persons, rows["person"]), rows)
    for correction in corrections:
        _correct(scene, correction)
    return scene


def _place(scene: Scene, sample: Ints, person: Ints, rows: Mapping[str, NDArray[Any]]) -> None:
    """Write rows into the dense arrays; later rows overwrite earlier ones."""
    at = (sample, person)
    scene.face[at] = np.stack([rows[name] for name in ("face_x1", "face_y1", "face_x2", "face_y2")], axis=-1)
    scene.gaze[at] = np.stack([rows["gaze_x"], rows["gaze_y"]], axis=-1)
    scene.inframe[at] = np.nan_to_num(rows["inframe"].astype(np.float64))
    scene.confidence[at] = np.nan_to_num(rows["confidence"].astype(np.float64))
    scene.kind[at] = rows["code"]
    scene.target[at] = np.where(rows["code"] == PERSON, rows["target_person"], -1)
    scene.present[at] = True
    labels, number = np.unique(rows["target_object"].astype(str), return_inverse=True)
    numbers = np.where(labels == "", -1, np.arange(len(labels)))[number]
    scene.objects[at] = np.where(rows["code"] == OBJECT, numbers, -1)
    _aim_at_faces(scene, (scene.kind == PERSON) & np.isnan(scene.gaze[..., 0]))


def _aim_at_faces(scene: Scene, where: Bools) -> None:
    """Put the gaze points of `where` on the faces of their target persons (NaN where that face is not there)."""
    column = scene.column_of(scene.target)
    sample, person = np.nonzero(where & (column >= 0))
    scene.gaze[sample, person] = scene.face_centre[sample, column[sample, person]]


def _correct(scene: Scene, correction: Correction) -> None:
    """Overrule one person's gaze over a span; earlier corrections of the same samples are replaced."""
    column = int(scene.column_of(np.array(correction.person)))
    first, last = np.searchsorted(scene.frames, (correction.start, correction.end))
    if column < 0 or first == last:
        return
    at = (slice(first, last), column)
    in_scene = correction.kind in (PERSON, OBJECT, SCENE)
    point = (np.nan, np.nan) if correction.x is None or correction.y is None else (correction.x, correction.y)
    scene.kind[at] = correction.kind
    scene.target[at] = -1 if correction.target_person is None else correction.target_person
    scene.objects[at] = -1
    scene.gaze[at] = point if in_scene else (np.nan, np.nan)
    scene.inframe[at] = float(in_scene)
    scene.confidence[at] = 1.0
    scene.human[at] = True
    scene.present[at] = True
    if in_scene and correction.target_person is not None:
        where = np.zeros(scene.human.shape, dtype=bool)
        where[at] = True
        _aim_at_faces(scene, where)
