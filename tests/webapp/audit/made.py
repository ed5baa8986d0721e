"""An audit whose machine part is written by hand: what raters meet, without a model or a grounder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from uuid import uuid4

import numpy as np
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from ml.evidence.package import Claim, ClaimTime, ClaimType, Package, Phrase
from webapp.audit import recording, services
from webapp.audit.models import Audit, Response
from webapp.audit.models import Claim as ClaimRow
from webapp.audit.recording import Found, Judged
from webapp.audit.services import Draft
from webapp.lib import storage
from webapp.library.models import Video

TEXT = "Person 1 is at the left. A dog lies on the floor. Person 2 looks at Person 1."
SIZE = [4, 6]
FULL = "0h0"  # run lengths of a mask of 4 x 6: no pixel outside, then 24 inside
PARTS = ((0, 23), (25, 47), (49, 76))


@dataclass
class Scene:
    """An open audit of one response with three claims; the machine is through with it."""

    audit: Audit
    response: Response
    claims: list[ClaimRow]


def give_frames(video: Video) -> None:
    """The stored frame index of a video at 25 frames a second."""
    times = BytesIO()
    np.savez(times, pts=np.arange(video.frames + 1), time_base=np.array([1, 25]))
    assert video.blob is not None
    if not default_storage.exists(f"{video.blob.folder}/frames.npz"):
        default_storage.save(f"{video.blob.folder}/frames.npz", ContentFile(times.getvalue()))


def draft(video: Video, **more: Any) -> Draft:
    values: dict[str, Any] = {
        "start": 100, "end": 200, "rendering": "clean", "model": "m-1", "text": TEXT, "digest": uuid4().hex,
        "asked": "Who looks?", "options": ["Person 1", "Person 2"], "answer": "B", "letters": ["B"], "key": ["A"],
        "correct": False,
    }  # fmt: skip
    return Draft(video=video, **(values | more))


def claims() -> tuple[Claim, ...]:
    about: list[tuple[ClaimType, str]] = [("person", "person"), ("object", "dog"), ("gaze", "")]
    return tuple(
        Claim(
            f"c{n}", PARTS[n - 1], TEXT[slice(*PARTS[n - 1])], type, time=ClaimTime(1.0, 2.0, "stated"),
            phrases=(Phrase(head, head, negative="cat"),) if head else (), load_bearing=n == 3,
        )
        for n, (type, head) in enumerate(about, 1)
    )  # fmt: skip


def relevance_of(claim: ClaimRow) -> str:
    """What raters say of the mask: only the first claim has one."""
    return "partly" if claim.name == "c1" else ""


def columns(frames: list[int], query: str = "phrase-1") -> dict[str, Any]:
    count = len(frames)
    return {
        "size": SIZE, "query": [query] * count, "object": [1] * count, "frame": frames, "person": [-1] * count,
        "score": [0.9] * count, "tracker_score": [None] * count, "box": [[0.0, 0.0, 1.0, 1.0]] * count,
        "area": [24] * count, "kind": ["mask"] * count, "counts": [FULL] * count,
    }  # fmt: skip


def query(id: str, text: str, role: str, frames: list[int]) -> dict[str, Any]:
    return {
        "id": id, "text": text, "role": role, "person": None, "status": "ok" if frames else "empty", "sentence": "",
        "attributes_checked": [], "frames": frames, "objects": int(bool(frames)), "best": None,
    }  # fmt: skip


def process(response: Response, verdicts: tuple[str, ...] = ("supported", "unsupported", "wrong_person")) -> None:
    """What the machine does with a response, in the order in which it does."""
    made = Package("0" * 64, claims(), {"name": "rules"})
    recording.keep_package(
        response_id=response.id, made=made, tree={"v": 1}, windows={"c1": (125, 150)}, provenance={"name": "rules"}
    )
    for n, name in enumerate(verdicts, 1):
        frames = [125, 130] if n == 1 else []
        target = storage.local_path(f"{response.folder}/c{n}.json")
        assert target is not None
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(columns(frames)))
        found = Found(
            queries=[query("phrase-1", "person", "phrase", frames)], looked=[125, 130], inside=[True, True],
            columns=f"c{n}.json", provenance={"grounder": {"name": "embedded"}},
        )  # fmt: skip
        judged = Judged(name, "some_rule", "Because.", {"share_in": 1.0}, {"set": ""})
        recording.keep_claim(response_id=response.id, name=f"c{n}", found=found, judged=judged)
    recording.keep_response(response_id=response.id)


def make_audit(video: Video, user: Any, *, responses: int = 1, raters: int = 2, **more: Any) -> Audit:
    give_frames(video)
    drafts = [draft(video, **more) for _ in range(responses)]
    made = services.create_audit(
        project=video.project, user=user, source=f"file:{uuid4().hex}", drafts=drafts, raters=raters
    )
    for response in made.audit.responses.all():
        process(response)
    return made.audit


def make_scene(video: Video, user: Any, **more: Any) -> Scene:
    audit = make_audit(video, user, **more)
    response = audit.responses.select_related("audit__project", "video").get()
    return Scene(audit, response, list(ClaimRow.objects.filter(response=response).select_related("response__audit")))
