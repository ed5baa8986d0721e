"""Writes of audits: making one, its settings, starting its work, finishing it.

Ratings, verdicts and adjudications are written in `rating`, masks in `masking`, other wordings in `reprompting`; what
the machine finds in `recording`. Every function takes keywords only and is one transaction; who may call it is checked
before (`webapp.audit.access`). Raises Refused or Stale. Rows are locked in one order: videos, project, audit,
response, claim.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4, uuid5

import pghistory
from django.db import connection, transaction
from django.db.models import Count, Max, Q
from django.utils import timezone

from ml.endpoint import Config, NotConfigured
from ml.evidence.grounding.ready import need as need_grounder
from ml.evidence.summarisers.registry import LOCAL_MODEL
from ml.evidence.summarisers.registry import load as load_summariser
from ml.questions.clip import RENDERINGS
from webapp.accounts.models import User
from webapp.audit import tallies
from webapp.audit.models import Audit, Response
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.lib.errors import Refused, Stale
from webapp.library.models import Project, Video

SUMMARISERS = ("rules", "smollm", "local", "endpoint")
GROUNDERS = ("embedded", "sam3", "sam3-official")
MOST_RESPONSES = 100_000
MOST_TEXT = 100_000  # characters of one reply
MOST_NAME = 120
WORK = ("audit", "respond", "reprompt")  # kinds of jobs that write into an open audit
UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # models write such characters, also escaped in JSON
OWN_COLUMNS = ("video", "clip", "question")
NAMESPACE = UUID("4c4f6a1e-7f1c-4f0b-9f5d-2a8d2f0d6b11")


@dataclass(frozen=True)
class Draft:
    """A response that is to be kept. `start`, `end`: source frames; `person_map`: tag's number as text -> person id."""

    video: Video
    start: int
    end: int
    rendering: str
    model: str
    text: str
    digest: str
    person_map: Mapping[str, str] = field(default_factory=dict)
    asked: str = ""
    options: Sequence[str] = ()
    answer: str = ""
    letters: Sequence[str] = ()
    key: Sequence[Any] | None = None
    correct: bool | None = None
    repairs: Sequence[str] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    clip: UUID | None = None
    question: UUID | None = None


@dataclass(frozen=True)
class Made:
    """What came of drafts: the audit, how many responses were made, and how many it had already."""

    audit: Audit
    made: int
    known: int


# ---------------------------------------------------------------------------------------------------------------------
# Making


def create_audit(
    *,
    project: Project,
    user: User | None,
    source: str,
    drafts: Sequence[Draft],
    name: str = "",
    summariser: str = "rules",
    grounder: str = "embedded",
    raters: int = 2,
    deletion: bool = False,
    settings: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> Made:
    """The audit of this source, summariser and grounder, with these responses; what it has already is not doubled.

    `deletion`: with the deletion test, at the configured endpoint's price. A finished audit takes nothing new. Raises
    Refused.
    """
    check_choices(summariser=summariser, grounder=grounder, raters=raters, deletion=deletion)
    settings = {**(settings or {}), **({"deletion": True} if deletion else {})}
    if len(drafts) > MOST_RESPONSES:
        raise Refused(f"At most {MOST_RESPONSES:,} responses at once; split the file.", "file")
    with transaction.atomic(), pghistory.context(user=user.pk if user else None, why="audit.create"):
        wanted = {draft.video.id for draft in drafts}
        locked = Video.objects.select_for_update(no_key=True).filter(id__in=wanted, project=project).order_by("id")
        if len(list(locked.values_list("id"))) != len(wanted):
            raise Refused("A video of these responses is gone.", "video")
        Project.objects.select_for_update(no_key=True).get(id=project.id)
        audit = _audit_of(project, user, source, name, summariser, grounder, raters, settings, notes)
        made = _add(audit, drafts)
        tallies.add_responses(audit.id, tallies.counted(made))
        return Made(audit, len(made), len(drafts) - len(made))


def create_large(
    *,
    project: Project,
    user: User | None,
    source: str,
    batches: Iterable[Sequence[Draft]],
    videos: Collection[str],
    name: str,
    summariser: str,
    grounder: str,
    raters: int,
    deletion: bool,
) -> Made:
    """As `create_audit`, of very many responses to these videos, for a job: they appear all at once when it commits,
    and until then nobody waits for it who does not delete one of the videos or finish this very audit.

    What `batches` raises undoes everything. Raises Refused.
    """
    check_choices(summariser=summariser, grounder=grounder, raters=raters, deletion=deletion)
    settings = {"deletion": True} if deletion else {}
    with transaction.atomic(), pghistory.context(user=user.pk if user else None, why="audit.create"):
        _hold_videos(project, videos)
        same = Audit.objects.filter(project=project, source=source, summariser=summariser, grounder=grounder)
        known = same.select_for_update(no_key=True).first()
        target = known or Audit(id=uuid4(), project=project)  # its row comes last: foreign keys are checked at the end
        counted, given = tallies.counted(()), 0
        for drafts in batches:
            given += len(drafts)
            counted += tallies.counted(_add(target, drafts))
        if known is None:
            Project.objects.select_for_update(no_key=True).get(id=project.id)
        audit = _audit_of(project, user, source, name, summariser, grounder, raters, settings, (), id=target.id)
        tallies.add_responses(audit.id, counted)
        return Made(audit, counted.total(), given - counted.total())


def _hold_videos(project: Project, ids: Collection[str]) -> None:
    """Keep videos from being erased until the transaction ends; others may change what is in them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM library_video WHERE project_id = %s AND id = ANY(%s::uuid[]) ORDER BY id FOR KEY SHARE",
            [project.id, list(ids)],
        )
        if cursor.rowcount != len(set(ids)):
            raise Refused("A video of these responses is gone.", "video")


@contextmanager
def audit_to_fill(made: Made) -> Iterator[None]:
    """An audit just made goes again when what fails in here fails before anything came into it."""
    try:
        yield
    except BaseException:
        with transaction.atomic():
            audit = Audit.objects.select_for_update().filter(id=made.audit.id).first()
            waiting = Response.State.WAITING
            if audit and not made.known and not audit.responses.exclude(state=waiting).exists():
                audit.delete()
        raise


def check_choices(*, summariser: str, grounder: str, raters: int, deletion: bool = False) -> None:
    """Raises Refused for a summariser or grounder there is none of, a number of raters that cannot be, or a deletion
    test without an endpoint."""
    if summariser not in SUMMARISERS:
        raise Refused(f"There is no summariser {summariser!r}; there is: {', '.join(SUMMARISERS)}.", "summariser")
    if grounder not in GROUNDERS:
        raise Refused(f"There is no grounder {grounder!r}; there is: {', '.join(GROUNDERS)}.", "grounder")
    if isinstance(raters, bool) or not isinstance(raters, int) or not 1 <= raters <= 10:
        raise Refused("Between 1 and 10 people rate each response.", "raters")
    if deletion:
        need_endpoint("deletion")


def need_set_up(*, summariser: str, grounder: str) -> None:
    """Raises Refused where one of them is not set up, before there is something that waits for it.

    With a broker of its own (BROKER_URL) the workers may be other machines, whose packages and weights are not seen
    from here: then only what the environment says is looked at.
    """
    if summariser == "endpoint":
        need_endpoint("summariser")
    if summariser == "local" and not os.environ.get(LOCAL_MODEL):
        raise Refused(f"The summariser local needs the folder of a model; name it in {LOCAL_MODEL}.", "summariser")
    if os.environ.get("BROKER_URL"):
        return
    field = "summariser"
    try:
        if summariser in ("smollm", "local"):
            load_summariser(summariser)  # says what it lacks, and reads no weights before the first reply
        field = "grounder"
        need_grounder(grounder)
    except (ValueError, FileNotFoundError) as error:  # not set up, or weights are missing
        raise Refused(str(error), field) from error


def need_endpoint(field: str) -> None:
    """Raises Refused when no endpoint is configured here."""
    try:
        Config.from_environment()
    except NotConfigured as error:
        raise Refused(str(error), field) from error


def _audit_of(
    project: Project,
    user: User | None,
    source: str,
    name: str,
    summariser: str,
    grounder: str,
    raters: int,
    settings: Mapping[str, Any],
    notes: Sequence[str],
    *,
    id: UUID | None = None,
) -> Audit:
    same = {"source": source, "summariser": summariser, "grounder": grounder}
    known = Audit.objects.filter(project=project, **same).first()
    if known is not None:
        if settings.get("deletion") and not known.settings.get("deletion"):
            need_open(known)
            known.settings = {**known.settings, "deletion": True}
            known.save(update_fields=["settings"])
        return known
    number = (Audit.objects.filter(project=project).aggregate(last=Max("number"))["last"] or 0) + 1
    return Audit.objects.create(
        id=id or uuid4(),
        project=project,
        number=number,
        name=checked_name(name or f"Audit {number}"),
        raters=raters,
        settings=dict(settings),
        notes=list(notes),
        created_by=user,
        **same,
    )


def checked_name(name: str) -> str:
    if not name.strip() or len(name) > MOST_NAME or "\0" in name:
        raise Refused(f"A name has 1 to {MOST_NAME} characters.", "name")
    return name.strip()


def _add(audit: Audit, drafts: Sequence[Draft]) -> list[Response]:
    """Add the responses the audit has not; they are to be counted."""
    fresh: dict[str, Draft] = {}
    digests = [draft.digest for draft in drafts]
    known = set(Response.objects.filter(audit=audit.id, digest__in=digests).values_list("digest", flat=True))
    for draft in drafts:
        if draft.digest not in known:
            fresh.setdefault(draft.digest, draft)
    if fresh and audit.state == Audit.State.FINISHED:
        raise Refused("This audit is finished; what is new belongs into another one.", "audit")
    at = (Response.objects.filter(audit=audit.id).aggregate(last=Max("position"))["last"] or 0) + 1
    rows = [_row(audit, position, draft) for position, draft in enumerate(fresh.values(), at)]
    return Response.objects.bulk_create(rows, batch_size=500)


def _row(audit: Audit, position: int, draft: Draft) -> Response:
    if draft.rendering not in RENDERINGS:
        raise Refused(f"There is no rendering {draft.rendering!r}; there is: {', '.join(RENDERINGS)}.", "rendering")
    told = {name: stored(getattr(draft, name)) for name in Draft.__dataclass_fields__ if name not in OWN_COLUMNS}
    return Response(
        id=uuid5(NAMESPACE, f"{audit.id} {draft.digest}"),
        audit_id=audit.id,
        position=position,
        video=draft.video,
        clip_id=draft.clip,
        question_id=draft.question,
        **told,
    )


def stored(value: Any) -> Any:
    """Mappings, tuples and texts as columns have them: what no column holds in a text, a NUL or half a character, is
    one U+FFFD, so that spans still hold."""
    if isinstance(value, str):
        return UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {stored(key): stored(one) for key, one in value.items()}
    return [stored(one) for one in value] if isinstance(value, list | tuple) else value


# ---------------------------------------------------------------------------------------------------------------------
# Settings and end


def configure(*, audit: Audit, user: User, version: int, changes: Mapping[str, Any]) -> Audit:
    """Change `name` or `raters`. Fewer raters than places taken, also by somebody who rates just now, is refused.
    Raises Refused, Stale."""
    from webapp.audit.rating import judge

    with transaction.atomic():
        locked = locked_audit(audit.id, version=version)
        need_open(locked)
        for name, value in changes.items():
            if name == "name":
                locked.name = checked_name(value)
            elif name == "raters":
                check_choices(summariser=locked.summariser, grounder=locked.grounder, raters=value)
                done = Q(ratings__completed__isnull=False)
                if value < _most_places(locked, done | Q(ratings__until__gt=timezone.now())):
                    raise Refused("A response was rated by more people than that already, or is just now.", "raters")
                if value > locked.raters and _most_places(locked, done) >= locked.raters:
                    raise Refused(
                        "A response is rated by all already; third persons may have seen what they said.", "raters"
                    )
                locked.raters = value
            else:
                raise Refused(f"There is no setting {name!r}.", name)
        locked.version += 1
        locked.save()
        if "raters" in changes:
            judge(locked.id)  # what as many as are asked for now have completed already
        return locked


def _most_places(audit: Audit, which: Q) -> int:
    """How many such places the response has that has most of them."""
    counted = Response.objects.filter(audit=audit).annotate(n=Count("ratings", which))
    return counted.aggregate(most=Max("n"))["most"] or 0


def locked_audit(audit_id: UUID, *, version: int | None = None) -> Audit:
    """The audit's row, locked; Stale when it is another version than the one given. Call inside `atomic`."""
    audit = Audit.objects.select_for_update(of=("self",)).select_related("project").get(id=audit_id)
    if version is not None and version != audit.version:
        theirs = {"name": audit.name, "raters": audit.raters, "state": audit.state, "version": audit.version}
        raise Stale(kind="audit", id=str(audit.id), base=version, theirs=theirs)
    return audit


def need_open(audit: Audit) -> None:
    if audit.state != Audit.State.OPEN:
        raise Refused("This audit is finished: nothing of it changes any more.", "audit")


def finish(*, audit: Audit, user: User, version: int, force: bool = False) -> Audit:
    """End the audit: everything is shown to everybody, nothing changes any more, and its report is made. Work of it
    that waits or runs is cancelled.

    Refused, with what is missing, while responses wait for raters or claims for an adjudicator, unless `force`.
    """
    from webapp.audit.reporting import request_report

    with transaction.atomic():
        locked = locked_audit(audit.id, version=version)
        need_open(locked)
        missing = _missing(locked)
        if missing and not force:
            raise Refused(f"Not everything is done: {'; '.join(missing)}.", "audit")
        locked.state, locked.finished = Audit.State.FINISHED, timezone.now()
        locked.version += 1
        locked.save()
        request_report(audit=locked, user=user)
    _cancel_work(locked, user)
    return locked


def _cancel_work(audit: Audit, user: User | None) -> None:
    """Stop what would write into a finished audit. By itself it is turned away there (`recording`)."""
    for job in Job.objects.filter(kind__in=WORK, state__in=jobs.LIVE, parameters__audit=str(audit.id)):
        with suppress(jobs.JobError):  # over meanwhile
            jobs.cancel(job=job, user=user)


def _missing(audit: Audit) -> list[str]:
    from webapp.audit import recording
    from webapp.audit.rating import disputed, unrated

    told = []
    waiting = Response.objects.filter(audit=audit, state=Response.State.WAITING).count()
    for count, number, words in (
        (waiting, "response is|responses are", "not processed"),
        (recording.untested(audit).count(), "response is|responses are", "not asked again with the evidence hidden"),
        (unrated(audit), "response is|responses are", "not rated by all"),
        (len(disputed(audit)), "claim waits|claims wait", "for a third person's word"),
    ):
        if count:
            told.append(f"{count:,} {number.split('|')[count != 1]} {words}")
    return told


# ---------------------------------------------------------------------------------------------------------------------
# Work


def request_audit(*, audit: Audit, user: User | None) -> Job:
    """Queue the work that is left: responses that wait or failed, claims whose grounding failed. Raises Refused.

    Asked again while that job waits or runs, it is the same job.
    """
    with transaction.atomic():
        locked = locked_audit(audit.id)
        need_open(locked)
        check_choices(summariser=locked.summariser, grounder=locked.grounder, raters=locked.raters)
        live = live_job(locked, ("audit",))
        if live is not None:
            return live
        if not Response.objects.filter(audit=locked).exists():
            raise Refused("This audit has no responses.", "audit")
        Response.objects.filter(audit=locked, state=Response.State.FAILED).update(
            state=Response.State.WAITING, error=""
        )
        tallies.none_failed(locked.id)
        if Response.objects.filter(audit=locked, state=Response.State.WAITING).exists():
            need_set_up(summariser=locked.summariser, grounder=locked.grounder)
        return jobs.create(
            project=locked.project, kind="audit", queue="gpu", parameters={"audit": str(locked.id)}, user=user
        )


def live_job(audit: Audit, kinds: Sequence[str]) -> Job | None:
    found = Job.objects.filter(kind__in=kinds, state__in=jobs.LIVE, parameters__audit=str(audit.id))
    return found.order_by("created").first()
