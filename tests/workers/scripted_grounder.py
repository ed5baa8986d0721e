"""A grounder that needs no pictures and no weights, and a video for it: people and masks are where the script says.

It finds "person" phrases and persons by number on every frame, nothing else. It notes each call's begin and end in a
file, so that a test can tell what was looked for how often, in whichever process.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ml.evidence.grounding.protocol import Footage, Grounded, Masks, Query, Share, Window
from ml.formats import coco_rle
from tests.webapp.runs import make_filmed_video, write_run_folder
from webapp.audit.services import Draft, create_audit
from webapp.lib import storage
from webapp.library.models import Project, Video
from webapp.tracks import acceptance, services

SIZE = (18, 32)
FRAMES = 500
TEXTS = (
    "Person 1 is visible at 1.0 s. A dog lies on the floor. Person 2 feels sad.",
    "A person stands at the left. At 3.0 s, Person 2 is visible. A cat sleeps.",
)


class Scripted:
    name: ClassVar[str] = "embedded"
    version: ClassVar[str] = "9"
    journal: ClassVar[Path | None] = None
    during: ClassVar[Callable[[Footage, Sequence[Query]], None]] = staticmethod(lambda footage, queries: None)
    delay_s: ClassVar[float] = 0.0

    def __init__(self, weights: Path | None = None) -> None:
        pass

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "version": self.version, "weights": {"w": "0" * 64}, "settings": {"score": 0.5}}

    def knows(self, phrase: str) -> bool:
        return True

    def refuses(self, phrase: str) -> str:
        return ""

    def ground(self, footage: Footage, queries: Sequence[Query], window: Window, *, progress: Share) -> Grounded:
        told = " ".join(query.text or query.id for query in queries)
        self.note("begin", told)
        progress(0.2)
        type(self).during(footage, queries)
        time.sleep(self.delay_s)
        progress(0.8)
        found = [q for q in queries if q.role == "person" or "person" in q.text]
        self.note("end", told)
        return Grounded(
            masks_of(found, window),
            {q.id: "ok" if q in found else "empty" for q in queries},
            looked=window.frame,
            attributes_checked={q.id: () for q in queries},
            seconds={"look": 0.01},
        )

    def note(self, word: str, told: str) -> None:
        if Scripted.journal is not None:
            with Scripted.journal.open("a") as file:
                file.write(f"{word} {told}\n")


def masks_of(queries: Sequence[Query], window: Window) -> Masks:
    """The left half of the picture, for each query on each frame."""
    mask = np.zeros(SIZE, bool)
    mask[:, :16] = True
    rows = [(q, frame) for q in sorted(queries, key=lambda q: q.id) for frame in window.frame.tolist()]
    count = len(rows)
    return Masks(
        size=SIZE,
        query=np.array([q.id for q, _ in rows], np.str_),
        object=np.ones(count, np.int64),
        frame=np.array([frame for _, frame in rows], np.int64),
        person=np.array([-1 if q.person is None else q.person for q, _ in rows], np.int64),
        score=np.full(count, 0.9, np.float32),
        tracker_score=np.full(count, np.nan, np.float32),
        box=np.tile(np.array([0.0, 0.0, 0.5, 1.0], np.float32), (count, 1)),
        area=np.full(count, int(mask.sum()), np.int64),
        kind=np.full(count, "mask"),
        counts=[coco_rle.encode(mask)] * count,
    )


def make_video(project: Project, folder: Path) -> Video:
    """Two shots of four people, perceived and accepted; nobody reads its pictures."""
    made = make_filmed_video(project, FRAMES)
    assert made.blob is not None
    path = storage.local_path(made.blob.original)
    assert path is not None
    path.write_bytes(b"nobody reads it")
    manifest = write_run_folder(folder, frames=FRAMES)
    manifest["shots"] = [manifest["shots"][0] | {"start": a, "end": b} for a, b in ((0, 200), (200, FRAMES))]
    about: dict[str, Any] = {"job": None, "profile": "embedded", "origin": "perception"}
    run = services.add_run(run_id=uuid.uuid4(), video=made, manifest=manifest, folder=folder, **about)
    assert acceptance.settle(run=run, user=None)
    return Video.objects.get(id=made.id)


def make_audit(video: Video, texts: Sequence[str] = TEXTS, **more: Any) -> Any:
    people = {str(p.number): str(p.id) for p in video.persons.all()}
    drafts = [
        Draft(
            video=video, start=0, end=200, rendering="tags", model=f"m-{n % 2}", text=text, digest=f"{n:064d}",
            person_map=people, asked="Who?", answer="A", letters=["A"],
        )
        for n, text in enumerate(texts)
    ]  # fmt: skip
    return create_audit(project=video.project, user=None, source="file:made", drafts=drafts, **more).audit
