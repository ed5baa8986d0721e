"""The `rules` detector: a coarse pass over the shot, then a fine one over the stretches in which arms do something.

Coarse: two looks a second, faces and poses of everybody (`candidates` says what is kept of it). Fine: ten looks a
second inside the stretches, poses of those whose arms moved and of their neighbours, hands of raised arms, objects on
every second look; then `rules`. Both passes keep what is finished in the shot's work folder, the coarse one in pieces
of PIECE_S, the fine one by stretch, so memory is bounded by a stretch and an interrupted shot goes on where it was.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from ml.media.files import write_json
from ml.media.index import sample_frames
from ml.perception.gestures import (
    aim,
    arms,
    candidates,
    giving,
    grasp,
    look,
    pointing,
    reaching,
    rules,
    scene,
    shapes,
    showing,
    things,
    window,
)
from ml.perception.gestures.candidates import Arms, Stretch
from ml.perception.gestures.look import Eyes, Seen, Wanted, laid_out, look_at
from ml.perception.gestures.protocol import Footage, Found, Gesture, Share
from ml.perception.gestures.window import Array
from ml.perception.sightings import SUFFIX, Sightings

COARSE, FINE = 2.0, 10.0  # looks per second
PIECE_S = 60.0
OBJECTS_EVERY = 2  # fine looks
COARSE_SHARE = 0.5  # of a shot's progress
NUMBERS = (int, float, dict)
THRESHOLDS = (
    candidates, look, window, arms, shapes, grasp, things, aim, scene, pointing, showing, giving, reaching, rules,
)  # fmt: skip


class Rules:
    name: ClassVar[str] = "rules"
    version: ClassVar[str] = "1"
    weights: ClassVar[tuple[str, ...]] = (
        "blazepose-full", "blazepose-detector", "handdetect", "handlandmark-full", "centerface", "nanodet",
    )  # fmt: skip
    origin: ClassVar[str] = "rule"

    def __init__(self, weights: Path | None = None) -> None:
        self._eyes = Eyes(weights)

    def settings(self) -> dict[str, Any]:
        """The rates, and every threshold of the rules."""
        return {
            "coarse_rate": COARSE,
            "fine_rate": FINE,
            **{module.__name__.rpartition(".")[2]: constants(module) for module in THRESHOLDS},
        }

    def detect(self, footage: Footage, shot: int, *, work: Path, progress: Share) -> Found:
        """See `protocol.GestureDetector`."""
        found = Found()
        start, end = footage.shots[shot]
        arms = self._coarse(footage, shot, work, found, lambda share: progress(COARSE_SHARE * share))
        footage = above(footage, sorted(work.glob(f"coarse-*{SUFFIX}")))  # every fifth fine look is a coarse one
        zeroed = footage.index.seconds
        todo = candidates.stretches(arms, float(zeroed[start]), float(zeroed[end]))
        found.counts["stretches"] = len(todo)
        found.counts["stretch_s"] = round(sum(s.end - s.start for s in todo), 3)
        gestures: list[Gesture] = []
        for number, stretch in enumerate(todo):

            def share(of: float, number: int = number) -> None:
                progress(COARSE_SHARE + (1 - COARSE_SHARE) * (number + of) / len(todo))

            gestures += self._fine(footage, shot, stretch, work, found, share)
        found.gestures = unique(gestures)
        progress(1.0)
        return found

    def _coarse(self, footage: Footage, shot: int, work: Path, found: Found, progress: Share) -> Arms:
        start, end = footage.shots[shot]
        frames = sample_frames(footage.index, start, end, COARSE)
        size = int(PIECE_S * COARSE)
        pieces = [frames[k : k + size] for k in range(0, len(frames), size)]
        paths = [work / f"coarse-{k:05d}.npz" for k in range(len(pieces))]
        for k, (piece, path) in enumerate(zip(pieces, paths, strict=True)):

            def report(done: int, k: int = k, count: int = len(piece)) -> None:
                progress((k + done / count) / len(pieces))

            account = path.with_suffix(".json")
            if not account.exists():
                noting = above(footage)
                seen, spent = self._see(noting, piece, lambda _: Wanted(), report)
                candidates.arms_in(laid_out(seen, footage)).save(path)
                if noting.known is not None:
                    noting.known.save(path.with_suffix(SUFFIX))
                write_json(account, {"looks": len(piece), "spent": spent})
            add(found, "coarse", json.loads(account.read_text()))
        return Arms.load(paths)

    def _fine(
        self, footage: Footage, shot: int, stretch: Stretch, work: Path, found: Found, progress: Share
    ) -> list[Gesture]:
        start, end = footage.shots[shot]
        frames = sample_frames(footage.index, start, end, FINE)
        inside = (footage.index.seconds[frames] >= stretch.start) & (footage.index.seconds[frames] <= stretch.end)
        mine = frames[inside]
        path = work / f"fine-{int(mine[0]):09d}.json"
        if not path.exists():
            persons = frozenset(stretch.persons)

            def wanted(k: int) -> Wanted:
                return Wanted(persons, hands=True, objects=k % OBJECTS_EVERY == 0)

            seen, spent = self._see(above(footage), mine, wanted, lambda done: progress(done / len(mine)))
            following = frames[frames > mine[-1]]
            began = time.process_time()
            result = rules.find(laid_out(seen, footage), end=int(following[0]) if len(following) else end)
            spent["rules"] = time.process_time() - began
            rows = [g.row() for g in result if g.initiator in persons]
            write_json(path, {"looks": len(mine), "spent": spent, "gestures": rows})
        stored = json.loads(path.read_text())
        add(found, "fine", stored)
        return [Gesture.of(row) for row in stored["gestures"]]

    def _see(
        self, footage: Footage, frames: Array, wanted: Callable[[int], Wanted], report: Callable[[int], None]
    ) -> tuple[list[Seen], dict[str, float]]:
        """Look at frames; processor seconds by kind of work, of which what no model took is decoding and the rest."""
        began = time.process_time()
        seen = list(look_at(self._eyes, footage, frames, wanted, report))
        spent: dict[str, float] = {}
        for one in seen:
            for kind, seconds in one.seconds.items():
                spent[kind] = spent.get(kind, 0.0) + seconds
        spent["decode and rest"] = max(0.0, time.process_time() - began - sum(spent.values()))
        return seen, spent


def above(footage: Footage, parts: Sequence[Path] = ()) -> Footage:
    """The footage with what is in `parts` added to what is known of it; what is seen from here on is noted apart."""
    if footage.known is None:
        return footage
    known = Sightings(footage.known.about, footage.known)
    for part in parts:
        known.take(Sightings.load(part, known.about))
    return replace(footage, known=known)


def constants(module: Any) -> dict[str, Any]:
    """The numbers a module is written with."""
    return {name: value for name, value in vars(module).items() if name.isupper() and isinstance(value, NUMBERS)}


def add(found: Found, stage: str, account: dict[str, Any]) -> None:
    """Count what a piece took: one line for the pass, one for each kind of work in it."""
    found.counts[f"{stage}_looks"] = found.counts.get(f"{stage}_looks", 0) + account["looks"]
    for name, seconds in [(stage, sum(account["spent"].values()))] + [
        (f"{stage} {kind}", value) for kind, value in account["spent"].items()
    ]:
        found.seconds[name] = round(found.seconds.get(name, 0.0) + seconds, 3)


def unique(gestures: list[Gesture]) -> list[Gesture]:
    """Sorted, and of two of one kind, by one person, that overlap (seen by two overlapping stretches) the longer."""
    kept: list[Gesture] = []
    for g in sorted(gestures, key=lambda g: g.start - g.end):
        if all(
            (g.type, g.initiator, g.details.get("hand")) != (k.type, k.initiator, k.details.get("hand"))
            or g.end <= k.start
            or k.end <= g.start
            for k in kept
        ):
            kept.append(g)
    return sorted(kept, key=lambda g: (g.start, g.initiator, g.type))
