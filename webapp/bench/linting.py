"""The linter over a project: its questions as items, with what their proofs say; and the last report for the page.

Drafts, open and accepted questions are looked at, printed as they would be released: persons by number, times on the
clip's clock. An item's position is its place in the order of numbers.

A report tells of keys. What is kept for the page (one stored file a project) tells of none: who may still be asked for
a blind answer could be reading it. The command line prints everything.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from ml.formats.errors import FormatError
from ml.formats.grasp_items import MCQ, OPEN, Item
from ml.questions.facts import Facts
from webapp.accounts.models import User
from webapp.bench import services, wording
from webapp.bench.clips import clip_span
from webapp.bench.facts import facts_of
from webapp.bench.models import Bench, Question
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Project, Video

if TYPE_CHECKING:
    from ml.questions.lint.one import One, World
    from ml.questions.lint.run import Report

State = Question.State
LOOKED_AT = (State.DRAFT, State.ANSWERING, State.DISPUTED, State.RESERVE, State.ACCEPTED)
# sentences of these codes quote numbers of question and clip, nothing of the key
OPEN_CODES = frozenset(
    {
        "option_count", "empty_option", "time_outside_clip", "time_inverted", "source_time_in_question",
        "duration_not_positive", "empty_time_range", "person_unknown", "person_not_visible", "not_run",
    }
)  # fmt: skip
KEPT = 200  # findings of one code that the page keeps
SHOWN = 10
Stop = Callable[[str, float], None]


@dataclass
class Found:
    """A report, and the number and id of the question at each position."""

    report: Report
    numbers: list[int]
    ids: list[str]


def lint_project(project: Project, world: World | None = None, progress: Stop = lambda stage, share: None) -> Found:
    """Look at every question of a project that is not over. Raises Refused when there is none."""
    from ml.questions.lint.one import World
    from ml.questions.lint.run import lint

    ones: list[One] = []
    numbers: list[int] = []
    ids: list[str] = []
    for one, question in _ones(project, progress):
        ones.append(one)
        numbers.append(question.number)
        ids.append(str(question.id))
    if not ones:
        raise Refused("This project has no question to check.", "project")
    order = sorted(range(len(ones)), key=numbers.__getitem__)
    for place, at in enumerate(order):
        ones[at].at = place
    progress("check", 0.0)
    world = world or World()
    world.of_project = True
    report = lint([ones[at] for at in order], world)
    return Found(report, [numbers[at] for at in order], [ids[at] for at in order])


def _ones(project: Project, progress: Stop) -> Iterator[tuple[One, Question]]:
    """Video after video, so that facts and proofs of one are in memory at a time."""
    bench = services.bench_of(project)
    videos = list(Video.objects.filter(project=project, questions__state__in=LOOKED_AT).distinct().order_by("id"))
    for done, video in enumerate(videos):
        progress("read", done / len(videos))
        questions = list(
            Question.objects.filter(video=video, state__in=LOOKED_AT).select_related("video").order_by("number")
        )
        names, facts = wording.names_of([video.id]), _facts(video)
        for question in questions:
            yield one_of_question(question, bench, facts, names), question


def _facts(video: Video) -> Facts | None:
    try:
        return facts_of(video)
    except Refused:
        return None  # not imported to the end: its questions are looked at without clip and events


def one_of_question(question: Question, bench: Bench, facts: Facts | None, names: dict[str, str]) -> One:
    """A question as the linter sees it; without facts there is no clip and no proof."""
    from ml.questions.lint.one import One

    item = Item(
        question="",
        category=question.category,
        difficulty=question.difficulty,
        format=OPEN if question.kind == "open" else MCQ,
        video_name=question.video.name,
        video_id=str(question.video_id),
    )
    if question.video.source_recording:
        item.extra["source_recording"] = question.video.source_recording
    clock: Callable[[int], float] = float
    if facts is not None:
        start, end = clip_span(question=question, bench=bench, seconds=facts.seconds)
        clock = wording.clock_from(facts.seconds, start)
        item.clip_file = f"{question.video.name}_qa{question.number:04d}.mp4"
        item.clip_offset = float(facts.seconds[start] - facts.seconds[0])
        item.clip_duration = float(facts.seconds[end] - facts.seconds[start])
        first, last = (float(facts.seconds[at] - facts.seconds[0]) for at in (question.start, question.end))
        item.time_range = (first, last)
        item.extra |= _visible(facts, start, end)
    item.question = wording.printed(question.text, names, clock)
    item.reasoning = wording.printed(question.reasoning, names, clock) or None
    item.options = [wording.printed(option["text"], names, clock) for option in question.options]
    _answer(item, question, names, clock)
    one = One(0, item, frozenset({question.category}), kind=question.kind)
    if question.kind == "single" and question.origin not in (Question.Origin.TEMPLATE, Question.Origin.MODEL):
        one.options_wanted = len(item.options)  # n-option items of other benchmarks are welcome
    if question.proof is not None and facts is not None:
        _prove(one, question, facts)
    elif question.signed_by_id is not None:
        one.truths = [None] * len(item.options)  # free-form: somebody gave their word
    return one


def _visible(facts: Facts, start: int, end: int) -> dict[str, Any]:
    """The numbers of those who are in the picture while the clip runs, where a run says so."""
    if not any(person.visible for person in facts.persons):
        return {}
    seen = [p.number for p in facts.persons if any(a < end and start < b for a, b in p.visible)]
    return {"persons": sorted(seen)}


def _answer(item: Item, question: Question, names: dict[str, str], clock: Callable[[int], float]) -> None:
    places = [at for at, option in enumerate(question.options) if option["id"] in question.key]
    if places:
        item.answer = "".join(chr(ord("A") + at) for at in places)
        item.answer_text = "; ".join(item.options[at] for at in places)
    elif question.key:
        item.answer = item.answer_text = wording.printed(str(question.key[0]), names, clock)


def _prove(one: One, question: Question, facts: Facts) -> None:
    from ml.questions.proof import evaluate, parse

    try:
        outcome = evaluate(parse(question.proof), facts)
    except FormatError as error:
        one.broken = f"it cannot be run ({error})"
        return
    if question.kind in ("single", "yes_no"):
        one.truths = [outcome.options.get(option["id"]) for option in question.options]
    one.held = outcome.stands
    if not outcome.stands:
        one.broken = " ".join(outcome.reasons) or "it does not say why."


# ---------------------------------------------------------------------------------------------------------------------
# As a job, for the page


@transaction.atomic
def request_lint(*, project: Project, user: User | None) -> Job:
    """Queue a check of the project's questions. Asked again while one waits, the answer is the same job."""
    if not Question.objects.filter(project=project, state__in=LOOKED_AT).exists():
        raise Refused("This project has no question to check.", "project")
    Project.objects.select_for_update(no_key=True).get(id=project.id)  # of two requests the second sees the first
    waiting = Job.objects.filter(project=project, kind="lint", state=Job.State.QUEUED).first()
    return waiting or jobs.create(project=project, kind="lint", queue="cpu", user=user)


def report_name(project_id: UUID) -> str:
    """Where the store has the report."""
    return f"lint/{project_id}.json"


def keep(*, project: Project, found: Found) -> None:
    """Store what the page shows: codes, questions, and sentences that tell nothing of a key. Call inside `atomic`.

    Of questions that are gone since they were read, say with a withdrawn video, nothing is kept.
    """
    Project.objects.select_for_update(no_key=True).get(id=project.id)  # nothing of it is withdrawn meanwhile
    there = {str(id) for id in Question.objects.filter(id__in=found.ids).values_list("id", flat=True)}
    tree = {
        "at": timezone.now().isoformat(),
        "counts": found.report.counts,
        "items": found.report.items,
        "findings": [row for row in _kept(found) if row["question"] is None or row["question"] in there],
        "of_code": dict(Counter(finding.code for finding in found.report.findings)),
    }
    with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
        path = Path(folder) / "lint.json"
        path.write_text(json.dumps(tree))
        storage.delete_tree(report_name(project.id))
        storage.put(path, report_name(project.id))


def _kept(found: Found) -> Iterator[dict[str, Any]]:
    count: Counter[str] = Counter()
    for finding in found.report.findings:
        count[finding.code] += 1
        if count[finding.code] <= KEPT:
            open_one = finding.item is None or finding.code in OPEN_CODES
            yield {
                "code": finding.code,
                "question": None if finding.item is None else found.ids[finding.item],
                "sentence": finding.sentence if open_one else "",
            }


def latest(project: Project) -> dict[str, Any] | None:
    """The last report as `bench/lint.html` shows it; None where there is none. Findings about questions that are gone
    or over are left out.
    """
    if not default_storage.exists(report_name(project.id)):
        return None
    with storage.local(report_name(project.id)) as path:
        tree = json.loads(path.read_text())
    from ml.questions.lint.findings import CODES, SEVERITIES

    told = {finding["question"] for finding in tree["findings"]} - {None}
    rows = Question.objects.filter(id__in=told, state__in=LOOKED_AT).values_list("id", "number", "video_id")
    there = {str(id): (number, f"/v/{video}/?question={id}") for id, number, video in rows}
    by_code: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for finding in tree["findings"]:
        if finding["code"] in CODES and (finding["question"] is None or finding["question"] in there):
            by_code[finding["code"]].append(_shown(finding, there))
    shown = [_row(code, some, tree["of_code"].get(code, len(some))) for code, some in by_code.items()]
    shown.sort(key=lambda row: SEVERITIES.index(row["severity"]))
    counts = tree["counts"]
    title = "Nothing stands in the way of a release" if not counts["error"] else "Faults that stand in the way"
    return {"title": title, "rows": shown, "note": f"{tree['items']:,} questions checked.", "at": tree["at"]}


def _shown(finding: dict[str, Any], there: dict[str, tuple[int, str]]) -> dict[str, Any]:
    from ml.questions.lint.findings import CODES

    number, address = there.get(finding["question"], (None, ""))
    return {
        "number": number,
        "address": address,
        "sentence": finding["sentence"] or CODES[finding["code"]].words,
    }


def _row(code: str, some: list[dict[str, Any]], count: int) -> dict[str, Any]:
    from ml.questions.lint.findings import CODES

    return {
        "severity": CODES[code].severity,
        "words": CODES[code].words,
        "code": code,
        "count": count,
        "some": some[:SHOWN],
        "more": max(0, count - SHOWN),
    }
