"""An audit for the browser: a response about the bench's clip; claims, masks and machine verdicts are made by hand.

Masks are ellipses that wander with their person, on a grid of 180 x 320; the words are chosen so that claims of every
type, with and without masks, are there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ml.evidence.package import Claim, ClaimTime, Package, Phrase
from ml.formats import coco_rle
from webapp.audit import recording, services
from webapp.audit.models import Audit, Response
from webapp.audit.recording import Found, Judged
from webapp.audit.services import Draft
from webapp.lib import storage
from webapp.library.models import Video

Shape = tuple[float, float, float, float]  # of an ellipse: middle, half width, half height, in shares of the picture
SIZE = (180, 320)
START, END = 25, 275
RATE = 25
SENTENCES: tuple[tuple[str, str, str, float | None, str, str], ...] = (
    # text, type, phrase, seconds, machine verdict, negative
    ("Person 1 is at the left of the table", "person", "person at the left", 1.0, "supported", "bicycle"),
    ("At 2.0 s, Person 2 looks at Person 3", "gaze", "person", 2.0, "contradicted", ""),
    ("a red, round cup stands in front of them", "object", "red round cup", 2.0, "weak", "laptop"),
    ("Person 3 reaches for the cup", "gesture", "cup", 3.5, "unsupported", "laptop"),
    ("Person 1 does not smile", "expression", "person", 4.0, "ambiguous", ""),
    ("a dog sleeps under the table", "object", "dog", None, "unsupported", "cat"),
    ("Person 4 leans back", "action", "person leaning back", 5.0, "supported", "bicycle"),
    ("the room is dimly lit", "scene", "dimly lit room", None, "not_in_vocabulary", ""),
    ("somebody laughs", "audio", "", 6.0, "not_groundable", ""),
    ("They seem to be friends", "inference", "", None, "not_groundable", ""),
)


@dataclass
class Plan:
    """How large the response is. `rows`: sentences, as above; `frames` looked at and `objects` found for each claim."""

    rows: tuple[tuple[str, str, str, float | None, str, str], ...] = SENTENCES
    frames: int = 12
    objects: int = 1
    model: str = "omni-7b"
    question: str = "Who does Person 2 look at when the cup is moved?"
    correct: bool = False
    raters: int = 2


def text_of(plan: Plan) -> tuple[str, list[tuple[int, int]]]:
    """The reply, and the span of each claim in it."""
    parts, spans, at = ["<think>"], [], len("<think>")
    for n, (sentence, *_) in enumerate(plan.rows):
        lead = "" if n == 0 else "\n" if n % 4 == 0 else " "
        parts.append(lead + sentence + ".")
        spans.append((at + len(lead), at + len(lead) + len(sentence)))
        at += len(lead) + len(sentence) + 1
    parts.append("</think>\n<answer>B</answer>")
    return "".join(parts), spans


def tags_in(sentence: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(w.strip(",.")) for w in sentence.split() if w.strip(",.").isdigit()))


def claims_of(plan: Plan) -> tuple[Claim, ...]:
    _, spans = text_of(plan)
    found = []
    for n, (sentence, type_, phrase, at, _, negative) in enumerate(plan.rows):
        time = ClaimTime(at, at + 1.0, "stated") if at is not None else ClaimTime()
        head = "person" if phrase.startswith("person") else phrase.rpartition(" ")[2]
        attributes = tuple(word for word in ("red", "round") if word in phrase)
        phrases = (Phrase(phrase, head, attributes, negative=negative or None),)
        found.append(
            Claim(
                f"c{n + 1}", spans[n], sentence, type_,  # type: ignore[arg-type]
                polarity="negated" if " not " in sentence else "affirmed", persons=tags_in(sentence), time=time,
                phrases=phrases if phrase else (), load_bearing=n in (1, 3), groundable=bool(phrase),
                why_not="" if phrase else "No picture shows what is heard or felt.",
            )
        )  # fmt: skip
    return tuple(found)


@cache
def drawn(x: float, y: float, wide: float, high: float) -> tuple[str, list[float], int]:
    """Counts, box and area of an ellipse."""
    mask = ellipse(x, y, wide, high)
    ys, xs = np.nonzero(mask)
    box = [xs.min() / SIZE[1], ys.min() / SIZE[0], (xs.max() + 1) / SIZE[1], (ys.max() + 1) / SIZE[0]]
    return coco_rle.encode(mask).decode(), [round(float(v), 4) for v in box], int(mask.sum())


def ellipse(x: float, y: float, wide: float, high: float) -> NDArray[np.bool_]:
    ys, xs = np.mgrid[: SIZE[0], : SIZE[1]]
    return ((xs - x * SIZE[1]) / (wide * SIZE[1])) ** 2 + ((ys - y * SIZE[0]) / (high * SIZE[0])) ** 2 <= 1


def looked_at(at: float | None, count: int) -> tuple[list[int], list[bool]]:
    """Frames inside the claimed second and, as many, after it; without a time all are inside."""
    first = START + int((at or 0) * RATE)
    step = max(1, RATE * 2 // max(count, 1))
    frames = [min(first + k * step, END - 1) for k in range(count)]
    frames = sorted(set(frames))
    return frames, [at is None or frame < first + RATE for frame in frames]


def columns(rows: list[tuple[str, int, int, int, Shape]]) -> dict[str, Any]:
    """`rows`: query, object, frame, person, ellipse."""
    masks = [drawn(*shape) for *_, shape in rows]
    return {
        "size": list(SIZE), "query": [row[0] for row in rows], "object": [row[1] for row in rows],
        "frame": [row[2] for row in rows], "person": [row[3] for row in rows], "score": [0.87] * len(rows),
        "tracker_score": [None] * len(rows), "box": [mask[1] for mask in masks], "area": [mask[2] for mask in masks],
        "kind": ["mask"] * len(rows), "counts": [mask[0] for mask in masks],
    }  # fmt: skip


def ground(response: Response, claim: Claim, verdict: str, plan: Plan) -> Found | None:
    """What is found of a claim: its phrase inside the claimed second unless the verdict says otherwise."""
    if not claim.phrases:
        return None
    phrase = claim.phrases[0]
    frames, inside = looked_at(claim.time.start_s, plan.frames)
    there = verdict not in ("unsupported", "not_in_vocabulary")
    hit = [f for f, within in zip(frames, inside, strict=True) if there and (within or claim.time.start_s is None)]
    rows = []
    for number in range(1, plan.objects + 1):
        person = claim.persons[0] if claim.persons else -1
        place = ((person if person > 0 else 2.5) + 0.35 * (number - 1)) % 4.4
        for frame in hit:
            shape = (place / 5 + 0.0006 * (frame - START), 0.55, 0.07, 0.33 if person > 0 else 0.12)
            rows.append(("phrase-1", number, frame, person, shape))
    queries = [query("phrase-1", phrase.text, "phrase", hit, rows, verdict)]
    if phrase.text != phrase.head:
        queries.append(query("category-1", phrase.head, "category", hit, [], verdict))
        rows += [("category-1", *row[1:]) for row in rows if row[0] == "phrase-1"]
    if phrase.negative:
        stray = frames[-1:]
        rows += [("negative-1", 1, frame, -1, (0.8, 0.2, 0.06, 0.1)) for frame in stray]
        queries.append(query("negative-1", phrase.negative, "negative", stray, [], verdict))
    rows.sort(key=lambda row: row[:3])
    name = f"{claim.id}.json"
    target = storage.local_path(f"{response.folder}/{name}")
    assert target is not None
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(columns(rows), separators=(",", ":")))
    return Found(
        queries=queries, looked=frames, inside=inside, columns=name if rows else "",
        notes=["approximate masks"], seconds={"masks": 1.2},
        provenance={"grounder": {"name": "embedded", "version": "1", "weights": {"a.onnx": "ab" * 32}}, "run": None},
    )  # fmt: skip


def query(id: str, text: str, role: str, frames: list[int], rows: list[Any], verdict: str) -> dict[str, Any]:
    unknown = verdict == "not_in_vocabulary"
    best = None
    if rows:
        _, number, frame, _, shape = rows[len(rows) // 2]
        best = {"frame": frame, "object": number, "box": drawn(*shape)[1], "score": 0.87}
    return {
        "id": id, "text": text, "role": role, "person": None,
        "status": "not_in_vocabulary" if unknown else "ok" if frames else "empty",
        "sentence": f"The grounder does not know “{text}”." if unknown else "", "attributes_checked": [],
        "frames": frames, "objects": len({row[1] for row in rows}) or int(bool(frames)), "best": best,
    }  # fmt: skip


def make(video: Video, user: Any, *plans: Plan, name: str = "Omni on dinner") -> Audit:
    """An open audit with one processed response for each plan."""
    plans = plans or (Plan(),)
    people = {p.number: str(p.id) for p in video.persons.all()}
    drafts = [
        Draft(
            video=video, start=START, end=END, rendering="tags", model=plan.model, text=text_of(plan)[0],
            digest=uuid4().hex, person_map={str(number): id for number, id in people.items()}, asked=plan.question,
            options=["Person 1", "Person 3", "the cup"], answer="B", letters=["B"], key=["A"], correct=plan.correct,
        )
        for plan in plans
    ]  # fmt: skip
    made = services.create_audit(
        project=video.project, user=user, source=f"file:{uuid4().hex}", drafts=drafts, name=name, raters=plans[0].raters
    )
    for response, plan in zip(made.audit.responses.order_by("position"), plans, strict=True):
        process(response, plan)
    return made.audit


def process(response: Response, plan: Plan) -> None:
    found = claims_of(plan)
    made = Package("0" * 64, found, {"name": "rules"})
    windows = {
        c.id: (START + int(c.time.start_s * RATE), min(END, START + int((c.time.start_s + 1) * RATE)))
        for c in found
        if c.time.start_s is not None
    }
    provenance = {"name": "rules", "version": "1", "prompt_sha256": "cd" * 32}
    recording.keep_package(response_id=response.id, made=made, tree={"v": 1}, windows=windows, provenance=provenance)
    for claim, row in zip(found, plan.rows, strict=True):
        verdict = row[4]
        judged = Judged(
            verdict, f"rule_{verdict}", f"By the rule the claim is {verdict.replace('_', ' ')}.",
            {"share_in": 0.75, "share_out": 0.0, "frames": plan.frames},
            {"rules": {"present": 0.5, "absent": 0.1}, "set": "working"},
        )  # fmt: skip
        grounded = ground(response, claim, verdict, plan)
        recording.keep_claim(response_id=response.id, name=claim.id, found=grounded, judged=judged)
    recording.keep_response(response_id=response.id)
