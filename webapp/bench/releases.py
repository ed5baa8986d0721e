"""Releases: asked for (`cut`), made in a worker (`draft`, `keep`), listed, and their items retired.

    cut(project=, user=, notes="", names=False, shares=None) -> Job    its result is {"release": id, "number", ...}
    listing(project) -> [Row]                                          newest first
    retire(item=, user=, reason=) -> [ReleaseItem]                     in every release that has the question

A release takes the accepted questions that are not stale and whose clips are cut. It is refused, in one sentence, when
the linter finds an error in what would be released, and when nothing changed since the one before. Once there it never
changes: `facts` says what it held, `items` what it was made of.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any
from uuid import UUID

import pghistory
from django.db import transaction
from django.db.models import Count, Max, Q
from django.utils import timezone

from ml.formats.hashing import digest
from ml.progress import Progress, silent
from ml.questions.lint.findings import CODES
from webapp.accounts.models import User
from webapp.bench import freezing, services
from webapp.bench.linting import OPEN_CODES
from webapp.bench.models import Bench, Question, Release, ReleaseItem
from webapp.events.services import storable
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Project

SHARES = {"test": 1.0}
KINDS = ("release",)
LONGEST_NOTES = 5000
FINDINGS_TOLD = 3
TOLD_WHOLE = OPEN_CODES | {"duplicate_question"}  # its sentence names the other question only


class NothingNew(Refused):
    """What would be released is what the release before holds."""

    def __init__(self, before: Release) -> None:
        super().__init__(f"Nothing changed since release {before.number}.", "project")
        self.before = before


@dataclass(frozen=True)
class Row:
    """One release in the list."""

    id: str
    number: int
    sha256: str
    notes: str
    items: int
    retired: int
    withdrawn: int
    created: Any
    created_by: str
    changes: str  # in words
    facts: dict[str, Any]


def listing(project: Project) -> list[Row]:
    """The project's releases, newest first: two queries."""
    gone = Q(items__retired__isnull=False)
    withdrawn = Q(items__item__has_key="withdrawn")
    found = Release.objects.filter(project=project).select_related("created_by").order_by("-number")
    counted = found.annotate(
        n=Count("items"), retired=Count("items", filter=gone), withdrawn=Count("items", filter=withdrawn)
    )
    return [
        Row(
            id=str(one.id),
            number=one.number,
            sha256=one.sha256,
            notes=one.notes,
            items=one.n,
            retired=one.retired,
            withdrawn=one.withdrawn,
            created=one.created,
            created_by=one.created_by.shown_name if one.created_by else "",
            changes=changes_in_words(one.facts.get("changes", {})),
            facts=one.facts,
        )
        for one in counted
    ]


def changes_in_words(changes: Mapping[str, Any]) -> str:
    """ "12 added, 1 changed, 2 removed since release 3"."""
    if changes.get("since") is None:
        return "The first release"
    parts = [f"{len(changes[what])} {what}" for what in ("added", "changed", "removed") if changes.get(what)]
    return f"{', '.join(parts) or 'nothing changed'} since release {changes['since']}"


# ---------------------------------------------------------------------------------------------------------------------
# Asking


def cut(
    *,
    project: Project,
    user: User | None,
    notes: str = "",
    names: bool = False,
    shares: Mapping[str, float] | None = None,
    or_last: bool = False,
) -> Job:
    """Queue the cutting of the next release. Asked again while one waits or runs, the answer is the same job.

    `names`: raters may be named in the provenance; else they have pseudonyms. `shares`: how much of the recordings goes
    to which split, {"test": 1.0} by default. `or_last`: where nothing changed, the job gives the release before instead
    of failing. Raises Refused.
    """
    shares = check_shares(shares or SHARES)
    if len(notes) > LONGEST_NOTES or not storable(notes):
        raise Refused(f"The notes are text of at most {LONGEST_NOTES:,} characters.", "notes")
    if not releasable(project).exists():
        raise Refused(_why_nothing(project), "project")
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(id=project.id)
        running = Job.objects.filter(project=project, kind="release", state__in=jobs.LIVE)
        live = running.exclude(parameters__has_key="rewrite").first()
        parameters = {"notes": notes.strip(), "names": names, "shares": dict(shares), "or_last": or_last}
        return live or jobs.create(project=project, kind="release", queue="cpu", parameters=parameters, user=user)


def check_shares(shares: Mapping[str, float]) -> dict[str, float]:
    """Raises Refused unless they are split names with shares above 0."""
    for name, share in shares.items():
        if not (name.isascii() and name.isidentifier() and len(name) <= 8) or not 0 < share <= 1000:
            raise Refused(f"A split has a short plain name and a share above 0, not {name!r}: {share!r}.", "shares")
    return dict(shares)


def accepted(project: Project) -> Any:
    return Question.objects.filter(project=project, state=Question.State.ACCEPTED)


def releasable(project: Project) -> Any:
    """Accepted questions that stand and whose clips are cut, by number."""
    found = accepted(project).standing().filter(clip__ready=True)
    return found.select_related("video__project", "video__blob", "video__run", "clip", "signed_by").order_by("number")


def left_out(project: Project) -> dict[str, int]:
    """Accepted questions that cannot be released now, by why. Four queries, each of them after what is rare."""
    found = accepted(project)
    standing = found.standing()
    return {
        "no_clip": standing.filter(clip=None).count() + standing.filter(clip__ready=False).count(),
        "stale": found.filter(stale=True).count() + found.in_doubt().filter(video__project=project).count(),
    }


def ready(project: Project, left_out: Mapping[str, int]) -> int:
    """How many accepted questions are not left out: counted this way, nobody looks at each of them."""
    return accepted(project).count() - sum(left_out.values())


def _why_nothing(project: Project) -> str:
    counts = left_out(project)
    if not any(counts.values()):
        return "There is no accepted question to release yet."
    return (
        f"No accepted question can be released: {counts['stale']} stale (prove them again), "
        f"{counts['no_clip']} without a clip that is cut."
    )


# ---------------------------------------------------------------------------------------------------------------------
# Making (workers only: reads frame times, runs proofs and the linter)


@dataclass
class Draft:
    """A release before it is kept: the same rows give the same draft."""

    project: Project
    items: list[freezing.Item]
    hashes: list[str]
    splits: list[str]
    questions: list[tuple[UUID, int]]  # id and version
    facts: dict[str, Any]
    since: int | None
    notes: str = ""
    sha256: str = field(init=False)

    def __post_init__(self) -> None:
        lines = [f"{split} {value}" for split, value in zip(self.splits, self.hashes, strict=True)]
        self.sha256 = hashlib.sha256("\n".join(lines).encode()).hexdigest()

    @property
    def number(self) -> int:
        return (self.since or 0) + 1


def draft(
    *,
    project: Project,
    notes: str = "",
    names: bool = False,
    shares: Mapping[str, float] | None = None,
    progress: Progress = silent,
) -> Draft:
    """What the next release would hold. Raises Refused: nothing to release, nothing new, or the linter says no."""
    questions = list(releasable(project))
    if not questions:
        raise Refused(_why_nothing(project), "project")
    before = Release.objects.filter(project=project).order_by("-number").first()
    earlier = list(before.items.select_related(None)) if before else []
    progress("freeze", 0.0)
    kept = {
        (one.question_id, one.question_version): one.item for one in earlier if one.question_id and not is_gone(one)
    }
    items = freezing.freeze(project, questions, kept, names=names, progress=lambda share: progress("freeze", share))
    stays = {freezing.recording_of(one.item): one.split for one in earlier if not is_gone(one)}
    splits = freezing.splits_of(items, shares or SHARES, stays)
    progress("lint", 0.0)
    found = lint(items)
    progress("agreement", 0.0)
    facts = {
        "v": 1,
        "items": len(items),
        "date": max(question.changed for question in questions).astimezone(UTC).date().isoformat(),
        "left_out": left_out(project),
        "counts": composition(items, splits),
        "agreement": agreement_of(project, progress),
        "lint": found,
        "changes": changes(items, splits, earlier, before.number if before else None),
        "limits": limits(items),
        "names": names,
    }
    made = Draft(
        project=project,
        items=items,
        hashes=[digest(item) for item in items],
        splits=splits,
        questions=[(question.id, question.version) for question in questions],
        facts=facts,
        since=before.number if before else None,
        notes=notes,
    )
    if before is not None and before.sha256 == made.sha256:
        raise NothingNew(before)
    return made


def is_gone(item: ReleaseItem) -> bool:
    """The video was withdrawn or deleted: only the hash and the word are left."""
    return "withdrawn" in item.item


def keep(*, made: Draft, user: User | None, id: UUID) -> Release:
    """Write the release and its items. Call inside `atomic`. Raises Refused when another was cut, or a question
    changed, since the draft was made."""
    Project.objects.select_for_update(no_key=True).get(id=made.project.id)
    last = Release.objects.filter(project=made.project).aggregate(last=Max("number"))["last"]
    if last != made.since:
        raise Refused("Another release was cut meanwhile; cut again.", "project")
    ids = [id_ for id_, _ in made.questions]  # an edit under way ends first, and what comes then finds them released
    list(Question.objects.select_for_update().filter(id__in=ids).order_by("number").values_list("id", flat=True))
    now = dict(releasable(made.project).select_related(None).values_list("id", "version"))
    changed = [number for number, (id_, version) in enumerate(made.questions) if now.get(id_) != version]
    if changed or len(now) != len(made.questions):
        raise Refused("Questions were changed while the release was cut; cut again.", "project")
    release = Release.objects.create(
        id=id,
        project=made.project,
        number=made.number,
        sha256=made.sha256,
        notes=made.notes,
        facts=made.facts,
        created_by=user,
    )
    rows = zip(made.items, made.hashes, made.splits, made.questions, strict=True)
    ReleaseItem.objects.bulk_create(
        ReleaseItem(
            release=release,
            question_id=question,
            position=position,
            question_version=version,
            split=split,
            item=item,
            sha256=value,
        )
        for position, (item, value, split, (question, version)) in enumerate(rows, start=1)
    )
    return release


# ---------------------------------------------------------------------------------------------------------------------
# What a release says of itself


def composition(items: Sequence[freezing.Item], splits: Sequence[str]) -> dict[str, dict[str, int]]:
    """How many items of each category, source recording, difficulty, kind, letter and split."""
    counted = {
        "category": Counter(item["category"] for item in items),
        "source": Counter(item["video"]["recording"] or "not named" for item in items),
        "difficulty": Counter(item["difficulty"] for item in items),
        "kind": Counter(item["kind"] for item in items),
        "letter": Counter(item["answer"] for item in items if item["kind"] == "single"),
        "split": Counter(splits),
    }
    return {name: dict(sorted(counts.items())) for name, counts in counted.items()}


def changes(
    items: Sequence[freezing.Item], splits: Sequence[str], earlier: Sequence[ReleaseItem], since: int | None
) -> dict[str, Any]:
    """Item ids that are new, other than before, or no longer there, against the release before."""
    before = {one.item["id"]: (one.split, one.sha256) for one in earlier if not is_gone(one)}
    now = {item["id"]: (split, digest(item)) for item, split in zip(items, splits, strict=True)}
    return {
        "since": since,
        "added": [id for id in now if id not in before],
        "changed": [id for id, what in now.items() if id in before and before[id] != what],
        "removed": sorted(before.keys() - now.keys()),
        "same": sum(before.get(id) == what for id, what in now.items()),
        "withdrawn": sum(is_gone(one) for one in earlier),
    }


def agreement_of(project: Project, progress: Progress) -> dict[str, Any]:
    """How far blind raters agree over all complete rounds: as the bench keeps it, computed anew where answers came."""
    from webapp.bench import agreeing

    bench = Bench.objects.filter(project=project).first()
    stored = bench.agreement if bench else {}
    from webapp.bench.models import Answer

    count = Answer.objects.filter(question__project=project).count()
    if not count:
        return {}
    if not stored or bench is None or bench.agreement_at != count:
        stored = agreeing.compute(project, progress).content
    return {key: value for key, value in stored.items() if key != "at"}  # when it was computed is no property of it


def limits(items: Sequence[freezing.Item]) -> list[str]:
    """What the items do not show, in sentences."""
    free = sum(item["provenance"]["free_form"] for item in items)
    told = [
        "Keys with a proof follow from events that people confirmed; what nobody marked is taken as absent only where "
        "somebody said that everything is marked.",
        "Clips carry no sound: what is said was no part of any question.",
    ]
    if free:
        told.append(f"{free} of {len(items)} keys have no proof and rest on a person's signature.")
    if any(item["clip"]["rendering"] == "grasp" for item in items):
        told.append("Clips in the rendering `grasp` show 2 frames a second, so shorter things may not be seen.")
    if not all(item["video"]["recording"] for item in items):
        told.append("Some videos name no source recording; for those the split goes by file.")
    return told


def lint(items: Sequence[freezing.Item]) -> dict[str, Any]:
    """Counts of the linter's findings. Raises Refused, listing the first, where one is an error.

    Whoever may still be asked can read why the job failed, so of findings that tell of keys only the kind is said.
    """
    from webapp.bench.release_lint import findings

    found = findings(items)
    errors = [one for one in found if one.severity == "error"]
    if errors:
        told = " ".join(_told(items, one) for one in errors[:FINDINGS_TOLD])
        more = f" And {len(errors) - FINDINGS_TOLD} more." if len(errors) > FINDINGS_TOLD else ""
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        raise Refused(f"The linter finds {count}, so no release is cut. {told}{more}", "project")
    severities = Counter(one.severity for one in found)
    codes = Counter(one.code for one in found)
    return {
        "errors": 0,
        "warnings": severities["warning"],
        "notes": severities["note"],
        "codes": dict(sorted(codes.items())),
    }


def _told(items: Sequence[freezing.Item], finding: Any) -> str:
    """The sentence with questions by their numbers: the linter counts items from 0."""

    def number(at: int) -> str:
        return f"Question {items[at]['provenance']['number']}"

    def named(match: re.Match[str]) -> str:
        return number(int(match[1])) if int(match[1]) < len(items) else match[0]

    words = finding.sentence if finding.code in TOLD_WHOLE else CODES[finding.code].words
    sentence = re.sub(r"\bItem (\d{1,6})\b", named, words)
    return f"{'The whole set' if finding.item is None else number(finding.item)}: {sentence}"


# ---------------------------------------------------------------------------------------------------------------------
# Afterwards


def rewrite(*, release: Release, user: User | None = None, erased: bool = False) -> Job:
    """Queue the writing of a release's archive from its rows as they are now: after a retirement, or (`erased`) once
    the old archive is gone with what was withdrawn. Asked again while that waits, the answer is the same job."""
    parameters = {"rewrite": str(release.id), "erased": erased}
    waiting = Job.objects.filter(project_id=release.project_id, kind="release", state=Job.State.QUEUED)
    return waiting.filter(parameters=parameters).first() or jobs.create(
        project=Project(id=release.project_id), kind="release", queue="cpu", parameters=parameters, user=user
    )


def _ask_no_more(id: UUID, user: User) -> None:
    """The question is retired; its place among the accepted goes to one of the reserve."""
    question = Question.objects.select_for_update(of=("self",)).select_related("project").get(id=id)
    was, question.state, question.changed_by = question.state, Question.State.RETIRED, user
    question.save(update_fields=["state", "changed", "changed_by"])
    if was == Question.State.ACCEPTED:
        services.bench_of(question.project)
        services.refill(question.project_id)


def retire(*, item: ReleaseItem, user: User, reason: str) -> list[ReleaseItem]:
    """Say that an item should no longer be used: in every release that has its question, which is asked no more.

    What was released stays as it was. Retired again is retired once: the first reason and date stay. Raises Refused.
    """
    reason = reason.strip()
    if not reason or len(reason) > 1000 or not storable(reason):
        raise Refused("Say why in 1 to 1000 characters: whoever uses the release reads it.", "reason")
    with transaction.atomic(), pghistory.context(user=user.pk, why="release.retire"):
        Project.objects.select_for_update(no_key=True).get(id=item.release.project_id)  # no release is kept meanwhile
        item.refresh_from_db(fields=["retired"])
        if item.retired is not None:  # what its question became since is another item
            return list(ReleaseItem.objects.filter(id=item.id))
        if item.question_id is not None:
            _ask_no_more(item.question_id, user)
        same = Q(id=item.id) if item.question_id is None else Q(question_id=item.question_id)
        fresh = ReleaseItem.objects.filter(same, retired=None)
        for release in Release.objects.filter(items__in=fresh).order_by("number"):
            rewrite(release=release, user=user)
        fresh.update(retired=timezone.now(), retired_why=reason)
        return list(ReleaseItem.objects.filter(same).order_by("release__number"))
