"""The embedded grounder: person masks and the 80 COCO classes, on ONNX Runtime alone.

    a person by number    the mask of whoever bears it
    words for people      masks of everybody; sex, age, clothes and doings are not checked
    a COCO class          NanoDet boxes at OBJECT_SCORE or more, cut out (`cutting`), kept over frames by overlap
    any other phrase      "not_in_vocabulary"

Person masks come from the file of the accepted run where it has the frame, else they are made on the spot. The words
left, right and middle are checked against boxes (`places`); no other attribute is, colours neither. Masks are
approximate. The same video, people and queries give the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ml.assignment import least_cost_pairs
from ml.evidence.grounding import cutting, linking
from ml.evidence.grounding.looking import DETECTOR, OBJECT_SCORE, PERSON_SCORE, Look, Looker, size_of
from ml.evidence.grounding.places import places_in, there
from ml.evidence.grounding.protocol import Footage, Grounded, Masks, Query, Share, Status, Window
from ml.evidence.vocabulary import EMBEDDED, PERSON
from ml.media import masks as packed
from ml.perception import registry
from ml.perception.geometry import ious
from ml.weights.manifest import MODELS

SAME_IOU = 0.3  # boxes of one thing on frames that follow one another
LOST = 4  # frames looked at without the thing, after which it is another one
NOBODY_KNOWS = "Nobody knows who is where in this video: it has no accepted run."


class Embedded:
    name: ClassVar[str] = "embedded"
    version: ClassVar[str] = "1"

    def __init__(self, weights: Path | None = None) -> None:
        self._looker = Looker(weights)

    def describe(self) -> dict[str, Any]:
        masker = self._looker.masker.describe()
        own = {MODELS[name].file: MODELS[name].sha256 for name in registry.backend_class(DETECTOR).weights}
        return {
            "weights": {**masker["weights"], **own},
            "settings": {
                "person_masks": {"version": masker["version"], **masker["settings"]},
                "object_score": OBJECT_SCORE, "person_score": PERSON_SCORE, "same_iou": SAME_IOU, "lost": LOST,
                "grabcut": [cutting.ROUNDS, cutting.LONGEST, cutting.NARROWEST, cutting.LEAST, cutting.MOST],
            },
        }  # fmt: skip

    def knows(self, phrase: str) -> bool:
        return EMBEDDED.knows(phrase)

    def refuses(self, phrase: str) -> str:
        """Never: it looks for words of a list, however long the phrase."""
        del phrase
        return ""

    def ground(self, footage: Footage, queries: Sequence[Query], window: Window, *, progress: Share) -> Grounded:
        kinds = {q.id: PERSON if q.person is not None else EMBEDDED.category(q.text) for q in queries}
        status: dict[str, Status] = {}
        sentence: dict[str, str] = {}
        for query in queries:
            if kinds[query.id] is None:
                status[query.id] = "not_in_vocabulary"
                sentence[query.id] = f"“{query.text}” is not in the embedded vocabulary: people and 80 kinds of things."
            elif query.person is not None and footage.people is None:
                status[query.id], sentence[query.id] = "error", NOBODY_KNOWS
        left = [query for query in queries if query.id not in status]
        size, seconds, frames = size_of(footage), dict[str, float](), np.unique(window.frame)
        classes = {str(kinds[query.id]) for query in left} - {PERSON}
        looks = self._looker.looks(footage, frames, classes, seconds, progress) if left else {}
        parts, checked = [packed.empty(size)], {}
        people = packed.joined([packed.empty(size), *(look.people for look in looks.values())])
        people = Masks(**{**vars(people), "tracker_score": np.full(len(people.frame), np.nan, np.float32)})
        if footage.people is None:
            people = _named(people, footage.shots, frames)
        for query in left:
            kind = str(kinds[query.id])
            failed = [look.failed[kind] for look in looks.values() if kind in look.failed]
            if failed:
                status[query.id], sentence[query.id] = "error", failed[0]
                continue
            found = people if kind == PERSON else _things(kind, looks, size, footage, people)
            if query.person is not None:
                found = packed.picked(found, found.person == query.person)
            elif words := places_in(query.text):
                found = _placed(found, words)
                checked[query.id] = words
            status[query.id] = "ok" if len(found.frame) else "empty"
            parts.append(Masks(**{**vars(found), "query": np.full(len(found.frame), query.id)}))
        progress(1.0)
        notes = ["Masks are approximate."] if left else []
        if any((part.kind == "box").any() for part in parts):
            notes.append("Some things are shown by their box only: they could not be cut out.")
        return Grounded(
            packed.joined(parts), status, sentence, looked=frames.astype(np.int64) if left else frames[:0],
            attributes_checked=checked, seconds={k: round(v, 3) for k, v in seconds.items()}, notes=notes,
        )  # fmt: skip


def _things(kind: str, looks: dict[int, Look], size: packed.Size, footage: Footage, people: Masks) -> Masks:
    """Rows of the things of a class on all frames, kept over frames, linked to people."""
    rows = [(frame, thing) for frame, look in looks.items() for thing in look.things[kind]]
    frame = np.array([f for f, _ in rows], np.int64)
    box = np.clip(np.array([t.box for _, t in rows]).reshape(-1, 4), 0, 1)
    counts = [t.counts for _, t in rows]
    masks = Masks(
        size=size,
        query=np.full(len(rows), kind),
        object=followed(frame, box, footage.shots, looks),
        frame=frame,
        person=np.full(len(rows), -1),
        score=np.array([t.score for _, t in rows], np.float32),
        tracker_score=np.full(len(rows), np.nan, np.float32),
        box=box.astype(np.float32),
        area=packed.area(counts, size) if counts else np.empty(0, np.int64),
        kind=np.array([t.kind for _, t in rows], np.str_),
        counts=counts,
    )
    owner = linking.link(masks, footage.people, footage.index, people if footage.people is not None else None)
    return Masks(**{**vars(masks), "person": owner})


def followed(
    frame: NDArray[np.int64], box: NDArray[np.float64], shots: Sequence[tuple[int, int]], looked: Iterable[int]
) -> NDArray[np.int64]:
    """An object's number (from 1, by first appearance) for each row of boxes: rows of frames that follow one another in
    a shot are one thing where their boxes overlap by SAME_IOU, each with one other at most; a thing unseen on LOST of
    the frames looked at is lost."""
    number = np.zeros(len(frame), np.int64)
    order = {f: k for k, f in enumerate(sorted(looked))}
    shot_of = {f: next((k for k, (a, b) in enumerate(shots) if a <= f < b), -1) for f in order}
    alive: list[tuple[int, int, NDArray[np.float64]]] = []  # number, frame last seen, box
    last = 0
    for now in np.unique(frame).tolist():
        rows = np.flatnonzero(frame == now)
        alive = [a for a in alive if order[now] - order[a[1]] <= LOST and shot_of[a[1]] == shot_of[now]]
        if alive:
            overlap = ious(np.stack([a[2] for a in alive]), box[rows])
            for old, new in zip(*least_cost_pairs(1 - overlap), strict=True):
                if overlap[old, new] >= SAME_IOU:
                    number[rows[new]] = alive[old][0]
        for row in rows.tolist():
            if not number[row]:
                last += 1
                number[row] = last
        seen = {int(number[row]): (int(number[row]), now, box[row]) for row in rows.tolist()}
        alive = [a for a in alive if a[0] not in seen] + list(seen.values())
    return number


def _named(people: Masks, shots: Sequence[tuple[int, int]], looked: NDArray[np.int64]) -> Masks:
    """People whom no run knows, kept over frames like things; nobody's number."""
    people = packed.picked(people, np.lexsort((people.object, people.frame)))
    object = followed(people.frame, people.box.astype(float), shots, looked.tolist())
    return packed.joined([Masks(**{**vars(people), "object": object, "person": np.full(len(object), -1)})])


def _placed(masks: Masks, words: tuple[str, ...]) -> Masks:
    """The rows of the objects that are where the words say, by the middle of their boxes over the frames."""
    objects = np.unique(masks.object)
    middle = (masks.box[:, 0] + masks.box[:, 2]).astype(float) / 2
    x = np.array([np.median(middle[masks.object == k]) for k in objects.tolist()])
    return packed.picked(masks, np.isin(masks.object, objects[there(words, x)]))
