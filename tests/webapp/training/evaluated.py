"""A release of twelve items, small enough to count by hand, and evaluations of it as a worker leaves them.

Items q00001 to q00012 of recordings tape 0 to tape 3, three of each. The first eight are mutual_gaze (gaze, medium),
the others gesture_type (gesture, easy). Options A to D, the key is B. In the events of each, Person 1 and 2 take part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from ml.evaluation import folder
from ml.evaluation.bench import Bench, Item
from ml.evaluation.models import MISSING, Reply
from ml.questions.taxonomy import CATEGORIES
from ml.rewards.rows import Truth
from webapp.bench.models import Release, ReleaseItem
from webapp.library.models import Project
from webapp.runs import evaluating, folders
from webapp.runs.models import Evaluation
from workers.tasks.evaluating import points

IDS = [f"q{n:05d}" for n in range(1, 13)]
RIGHT = "<think>x</think><answer>B</answer>"
WRONG = "<think>x</think><answer>C</answer>"
LOOSE = "<think>x</think>(b)"  # an answer by the lenient reading alone
SILENT = "<think>x</think>No idea at all."
GROUNDED = "<think><gaze>Person 1 looks at Person 2.</gaze></think><answer>B</answer>"  # both take part
ASTRAY = "<think><gaze>Person 1 looks at Person 7.</gaze></think><answer>C</answer>"  # one of the two takes part


def category_of(id: str) -> str:
    return "mutual_gaze" if int(id[1:]) <= 8 else "gesture_type"


def make_release(project: Project, number: int = 1) -> Release:
    release = Release.objects.create(project=project, number=number, sha256=f"{number:064x}")
    for at, id in enumerate(IDS, 1):
        item = {
            "id": id, "category": category_of(id), "difficulty": CATEGORIES[category_of(id)].difficulty,
            "kind": "single", "question": f"Who is it in {id}?", "answer": "B", "answer_text": "Person 2",
            "options": ["Person 1", "Person 2", "Person 3", "No one"], "reasoning": "", "persons": [], "visible": None,
            "video": {"name": "v.mp4", "sha256": "ab" * 32, "recording": tape(id), "licence": ""},
            "provenance": {"video": "", "question": ""},
        }  # fmt: skip
        ReleaseItem.objects.create(
            release=release, position=at, question_version=1, item=item, sha256=f"{number}{at:063x}"
        )
    return release


def tape(id: str) -> str:
    return f"tape {(int(id[1:]) - 1) // 3}"


def bench_of(release: Release) -> Bench:
    """The items as the loader of releases gives them."""
    there = release.items.filter(retired=None).exclude(item__has_key="withdrawn").order_by("position")
    return Bench("one r1", "release", tuple(_item(row.item) for row in there), facts={"number": release.number})


def _item(item: Mapping[str, Any]) -> Item:
    return Item(
        id=item["id"], question=item["question"], options=tuple(item["options"]), key=("B",),
        category=item["category"], group=CATEGORIES[item["category"]].group, difficulty=item["difficulty"],
        source="test", recording=item["video"]["recording"],
        events=(Truth("gaze", frozenset({1, 2}), None),), visible=frozenset({1, 2, 7}),
    )  # fmt: skip


class Said:
    """A model that says what it is told to; items it has no reply to are missing."""

    def __init__(self, name: str, replies: Mapping[str, str]) -> None:
        self.name, self.replies = name, replies

    def describe(self) -> dict[str, Any]:
        return {"kind": "predictions", "name": self.name, "sha256": "cd" * 32}

    def answer(self, item: Item) -> Reply:
        text = self.replies.get(item.id)
        return Reply(item.id, error=MISSING) if text is None else Reply(item.id, text)

    def close(self) -> None:
        pass


def replies_of(text: str, *more: tuple[int, str]) -> dict[str, str]:
    """The text for every item; then, for so many of the last ones, another. `(3, WRONG)`: the last three are wrong."""
    found = dict.fromkeys(IDS, text)
    for count, other in more:
        found |= dict.fromkeys(IDS[-count:], other)
    return found


def evaluate(
    release: Release, replies: Mapping[str, str], *, name: str = "model", control: str = "", **more: Any
) -> Evaluation:
    """A finished evaluation with its files, as a worker leaves it."""
    fields: dict[str, Any] = {"model_kind": "predictions", "model": name, "settings": {"seed": 0, "limit": None}}
    number = Evaluation.objects.filter(project=release.project).count() + 1
    made = Evaluation.objects.create(
        project=release.project, number=number, name=name, release=release, control=control, **(fields | more)
    )
    out = folders.evaluation(made.id)
    found = folder.evaluate(bench=bench_of(release), model=Said(name, replies), out=out, settings={}, name=name)
    out_of_it = evaluating.standing(release.id)
    results = found | {"points": points(out / "items.jsonl")}
    with transaction.atomic():
        evaluating.keep(evaluation_id=made.id, results=results, out=out_of_it)
    made.refresh_from_db()
    return made
