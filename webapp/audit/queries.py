"""Reads of audits, blind where they must be.

While an audit is open nobody is told: another rater's words, mask corrections or other wordings; the machine's verdict
of a claim before they gave theirs and asked; whether an answer is right; the key. A third person who adjudicates is
told what the raters of that response said, and the machine's verdict of a claim once they decided it. Once the audit is
finished all of it is there for everybody in the project.
`ready` pages ask these functions only; a fixed number of queries each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast
from uuid import UUID

import numpy as np
from django.contrib.postgres.aggregates import ArrayAgg
from django.core.files.storage import default_storage
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.utils import timezone
from numpy.typing import NDArray

from ml.questions.clip import ClipClock
from webapp.accounts.models import User
from webapp.accounts.permissions import Role, role_allows
from webapp.audit import masking, rating
from webapp.audit.access import may_see
from webapp.audit.models import (
    Audit,
    AuditAdjudication,
    Claim,
    Grounding,
    HumanVerdict,
    MachineVerdict,
    MaskEdit,
    MaskStep,
    Package,
    Rating,
    Reprompt,
    Response,
    Tally,
)
from webapp.bench.clips import stored_clock
from webapp.jobs import queries as jobs
from webapp.jobs.models import Job
from webapp.jobs.services import LIVE
from webapp.lib import storage
from webapp.library.frames import frame_seconds
from webapp.library.models import Project
from webapp.tracks.models import Person

Row = dict[str, Any]
WORK = ("audit", "respond", "audit-report")
HEAD = 120
NOTHING: Row = {"responses": 0, "processed": 0, "failed": 0, "videos": 0, "claims": 0, "models": []}


# ---------------------------------------------------------------------------------------------------------------------
# Audits


def audits_of(project: Project, user: User, role: Role) -> list[Row]:
    """The project's audits that this role may see, newest first."""
    found = Audit.objects.filter(project=project).select_related("project", "created_by").order_by("-number")
    return audit_rows([audit for audit in found if may_see(audit, role)], user, role)


def audit_row(audit: Audit, user: User, role: Role) -> Row:
    """One audit as `audits_of` has it."""
    return audit_rows([audit], user, role)[0]


def audit_rows(audits: Sequence[Audit], user: User, role: Role) -> list[Row]:
    """Audits in lists and at the heads of their pages; nothing in them tells a verdict. A fixed number of queries."""
    figures = Figures([audit.id for audit in audits], user, reviews=role_allows(role, "review"))
    return [_audit_row(audit, figures, role) for audit in audits]


class Figures:
    """Numbers of several audits, by audit: six queries."""

    def __init__(self, ids: Sequence[UUID], user: User, *, reviews: bool) -> None:
        self.totals = totals_of(ids)
        judged = Response.objects.filter(audit__in=ids, judged=True).order_by().values_list("audit")
        self.rated: dict[UUID, int] = dict(judged.annotate(n=Count("id")))
        mine = Rating.objects.filter(user=user, completed__isnull=False, response__audit__in=ids)
        self.mine: dict[UUID, int] = dict(mine.order_by().values_list("response__audit").annotate(n=Count("id")))
        self.waiting = rating.waiting(ids, user) if reviews else {}
        self.disputes = rating.disputes(ids, user) if reviews else {}
        self.jobs: dict[str, Job] = {}
        living = Job.objects.filter(kind__in=WORK, state__in=LIVE, parameters__audit__in=[str(id) for id in ids])
        for job in living.select_related("video", "project").order_by("-created"):
            self.jobs[job.parameters["audit"]] = job


def totals_of(audits: Sequence[UUID]) -> dict[UUID, Row]:
    """Per audit: responses, processed, failed, videos and claims as they were counted when written, and the models."""
    sums = {name: Sum(name) for name in ("responses", "processed", "failed", "claims")}
    rows = Tally.objects.filter(audit__in=audits).order_by().values("audit").annotate(**sums)
    counted: Iterable[Any] = rows.annotate(
        videos=Count("video", distinct=True), models=ArrayAgg("model", distinct=True)
    )
    return {row["audit"]: {name: row[name] for name in NOTHING} | {"models": sorted(row["models"])} for row in counted}


def _audit_row(audit: Audit, figures: Figures, role: Role) -> Row:
    open_one, reviews = audit.state == Audit.State.OPEN, role_allows(role, "review")
    rates, runs = open_one and reviews, role_allows(role, "audit")
    job = figures.jobs.get(str(audit.id))
    return {
        "id": str(audit.id),
        "number": audit.number,
        "name": audit.name,
        "project": audit.project.slug,
        "state": audit.state,
        "summariser": audit.summariser,
        "grounder": audit.grounder,
        "raters": audit.raters,
        "deletion": bool(audit.settings.get("deletion")),
        "version": audit.version,
        "created": audit.created.isoformat(),
        "created_by": name_of(audit.created_by),
        "finished": audit.finished.isoformat() if audit.finished else None,
        **figures.totals.get(audit.id, NOTHING),
        "rated": figures.rated.get(audit.id, 0),
        "mine": figures.mine.get(audit.id, 0),
        "waiting": figures.waiting.get(audit.id, 0) if rates else 0,
        "disputes": figures.disputes.get(audit.id, 0) if rates else None,
        "job": jobs.row(job, jobs.Subject(audit.name, "")) if job else None,
        "notes": audit.notes,
        "has_report": bool(audit.report),
        "may": {
            "rate": rates,
            "adjudicate": rates,
            "run": open_one and runs,
            "finish": open_one and runs,
            "download": not open_one and runs,
        },
    }


PARTS = ("all", "open", "mine", "disputed", "failed")  # of the list of an audit's responses
PAGE = 50


def response_list(audit: Audit, user: User, role: Role, *, part: str = "all", first: int = 0) -> Row:
    """A page of the audit's responses: {"list": rows, "first", "tallies": how many each part has}; a fixed number of
    queries.

    `part`: one of PARTS; `first`: how many of it come before the page, 0 where there are not so many.
    """
    places = Places(audit, user)
    shown = audit.state == Audit.State.OPEN and role_allows(role, "review")
    disputes = _by_response(rating.disputed(audit, third=user)) if shown else None
    totals = totals_of([audit.id]).get(audit.id, NOTHING)
    tallies = {
        "all": totals["responses"],
        "open": max(0, totals["processed"] - places.judged().count() - places.barred()),
        "mine": places.own.count(),
        "disputed": len(disputes or ()),
        "failed": totals["failed"],
    }
    found = Response.objects.filter(audit=audit)
    parts = {
        "all": found,
        "open": places.free(),
        "mine": found.filter(id__in=places.own.values("response")),
        "disputed": found.filter(id__in=list(disputes or ())),
        "failed": found.filter(state=Response.State.FAILED),
    }
    first = first if first < tallies[part] else 0
    ids = _page(parts[part], first, tallies[part])
    rows = Response.objects.filter(id__in=ids).select_related("video").defer("text", "person_map", "provenance")
    page = list(rows.order_by("position"))
    mine, taken, judged = places.of(ids)
    claims = dict(Claim.objects.filter(response__in=ids).order_by().values_list("response").annotate(n=Count("id")))
    listed = [
        {
            "id": str(row.id),
            "position": row.position,
            "model": row.model,
            "video": str(row.video_id),
            "video_name": row.video.name,
            "question": row.asked[:HEAD],
            "state": row.state,
            "error": row.error,
            "claims": claims.get(row.id, 0),
            "mine": "none" if row.id not in mine else "completed" if mine[row.id] else "begun",
            "places": max(0, audit.raters - taken.get(row.id, 0)),
            "judged": judged.get(row.id, 0) >= audit.raters,
            "disputes": None if disputes is None else disputes.get(row.id, 0),
        }
        for row in page
    ]
    return {"list": listed, "first": first, "tallies": tallies}


def _page(rows: QuerySet[Response], first: int, count: int) -> list[UUID]:
    """A page of `count` rows in order, walked to from the nearer end."""
    ids = rows.values_list("id", flat=True)
    if first <= count // 2:
        return list(ids.order_by("position")[first : first + PAGE])
    return list(ids.order_by("-position")[max(0, count - first - PAGE) : count - first])


class Places:
    """Places at an audit's responses, as queries: people make them, so they are few beside the responses."""

    def __init__(self, audit: Audit, user: User) -> None:
        self.audit = audit
        self.own = Rating.objects.filter(response__audit=audit, user=user)
        living = Q(until__gt=timezone.now())
        self.taken = Rating.objects.filter(Q(completed__isnull=False) | living)
        begun = Rating.objects.filter(living, completed=None).values("response")  # the others are full once judged
        counted = self.taken.filter(response__in=begun).order_by().values("response").annotate(n=Count("id"))
        self.full = counted.filter(n__gte=audit.raters).values("response")
        self.completed = self.own.filter(completed__isnull=False).values("response")

    def judged(self) -> QuerySet[Response]:
        return Response.objects.filter(audit=self.audit, judged=True)

    def unjudged(self) -> QuerySet[Response]:
        """Responses that are processed, and not completed by all their raters."""
        return Response.objects.filter(audit=self.audit, state=Response.State.DONE, judged=False)

    def free(self) -> QuerySet[Response]:
        """Those of them with a free place, which this person did not complete."""
        return self.unjudged().exclude(id__in=self.full).exclude(id__in=self.completed)

    def barred(self) -> int:
        """How many of them are not free; looked for among the ratings, as nearly all are."""
        completed = self.unjudged().filter(id__in=self.completed)
        return completed.count() + self.unjudged().filter(id__in=self.full).exclude(id__in=self.completed).count()

    def of(self, ids: Sequence[UUID]) -> tuple[dict[UUID, Any], dict[UUID, int], dict[UUID, int]]:
        """Of some responses: when this person completed theirs (None: begun), how many places are taken, and how many
        of these are completed."""
        mine = dict(self.own.filter(response__in=ids).values_list("response", "completed"))
        taken = self.taken.filter(response__in=ids).order_by().values_list("response")
        counts = list(taken.annotate(n=Count("id"), done=Count("completed")))
        return mine, {id: n for id, n, _ in counts}, {id: done for id, _, done in counts}


def _by_response(claims: Sequence[UUID]) -> dict[UUID, int]:
    counted = Claim.objects.filter(id__in=claims).values_list("response").annotate(n=Count("id"))
    return dict(counted.order_by())


def name_of(user: User | None) -> str | None:
    return None if user is None else user.display_name or user.username


# ---------------------------------------------------------------------------------------------------------------------
# One response


def task(response: Response, user: User, role: Role, *, adjudicate: bool = False) -> Row:
    """A response with its claims as this person may see it. `adjudicate`: with what its raters said, for a third person
    (`may_adjudicate` is looked at by the caller)."""
    audit = response.audit
    view = View(response, user, everything=audit.state == Audit.State.FINISHED, adjudicate=adjudicate)
    rates = audit.state == Audit.State.OPEN and role_allows(role, "review")
    seat = rating.seat_of(response, user)
    package = Package.objects.filter(response=response).exclude(tree={}).first()
    claims = [view.claim(claim) for claim in view.claims] if package else []
    row = {
        "id": str(response.id),
        "audit": str(audit.id),
        "audit_number": audit.number,
        "audit_state": audit.state,
        "project": audit.project.slug,
        "position": response.position,
        "state": response.state,
        "error": response.error,
        "model": response.model,
        "video": _video(response),
        "clip": _clip(response),
        "clock": clock_of(response),
        "person_map": _people(response),
        "question": response.asked,
        "options": response.options,
        "answer": response.answer,
        "text": response.text,
        "repairs": response.repairs,
        "provenance": {name: told for name, told in response.provenance.items() if not name.startswith("deletion")},
        "package": _package(package, len(claims)),
        "claims": claims,
        "steps": {claim: len(ids) for claim, ids in view.steps.items()},
        "undoable": view.steps,
        "seat": _seat(seat),
        "may": {
            "rate": rates and seat is not None and seat.completed is None,
            "adjudicate": rates and not view.rated,
            "see_all": view.everything,
        },
    }
    if view.everything:
        row |= {"correct": response.correct, "key": response.key, "ratings": view.ratings}
        tested = response.provenance.get("deletion")
        row["deletion"] = tested and {"spent": response.provenance.get("deletion_spent", {})} | tested
    return row


class View:
    """Everything that was said of a response, and what of it this person may be told: ten queries."""

    def __init__(self, response: Response, user: User, *, everything: bool, adjudicate: bool) -> None:
        self.response, self.user = response, user
        self.everything, self.adjudicate = everything, adjudicate
        self.open_to_all = everything or adjudicate
        self.claims = list(Claim.objects.filter(response=response).order_by("position"))
        whose = Q() if self.open_to_all else Q(user=user)
        mine_only = Q() if self.open_to_all else Q(reprompt=None) | Q(reprompt__user=user)
        of = Q(claim__response=response)
        self.said = _grouped(HumanVerdict.objects.filter(of, self._counted(), whose).select_related("user"))
        self.edits = _grouped(MaskEdit.objects.filter(of, whose).select_related("user"))
        self.reprompts = _grouped(Reprompt.objects.filter(of, whose).select_related("user").order_by("created"))
        self.groundings = {(g.claim_id, g.reprompt_id): g for g in Grounding.objects.filter(of, mine_only)}
        self.machine = {(m.claim_id, m.reprompt_id): m for m in MachineVerdict.objects.filter(of, mine_only)}
        decided = AuditAdjudication.objects.filter(of).select_related("user") if self.open_to_all else []
        self.decided = {row.claim_id: row for row in decided}
        self.steps: dict[str, list[str]] = defaultdict(list)  # of this person, the last one last
        steps = MaskStep.objects.filter(of, user=user, undone=False).order_by("created", "id")
        for claim, id in steps.values_list("claim", "id"):
            self.steps[str(claim)].append(str(id))
        seats = list(Rating.objects.filter(response=response).select_related("user"))
        self.rated = any(seat.user_id == user.pk for seat in seats)
        self.ratings = [
            {"user": name_of(seat.user), "completed": seat.completed.isoformat()} for seat in seats if seat.completed
        ]

    def _counted(self) -> Q:
        """Of others only the words of completed places are shown."""
        whole = Rating.objects.filter(response=self.response, completed__isnull=False, user=OuterRef("user"))
        return Q(user=self.user) | Q(Exists(whole)) | Q(user=None)

    def claim(self, claim: Claim) -> Row:
        said = self.said.get(claim.id, [])
        mine = next((row for row in said if row.user_id == self.user.pk), None)
        told = self.everything or self._gave_theirs(claim, mine)
        row = {
            **claim.body,
            "id": str(claim.id),
            "name": claim.name,
            "position": claim.position,
            "window": claim.window,
            "settled": claim.settled,
            "grounding": grounding_row(self.groundings.get((claim.id, None))),
            "reprompts": [self._reprompt(claim, one, told) for one in self.reprompts.get(claim.id, [])],
            "verdict": rating.row_of(mine),
            "edits": [self._edit(edit) for edit in self.edits.get(claim.id, [])],
        }
        if told:
            row["machine"] = machine_row(self.machine.get((claim.id, None)))
        if self.open_to_all:
            row["others"] = [_signed(rating.row_of(one), one.user) for one in said if one is not mine]
            row["adjudication"] = adjudication_row(self.decided.get(claim.id))
        return row

    def _gave_theirs(self, claim: Claim, mine: HumanVerdict | None) -> bool:
        """Whether this person's own word on the claim stands: blind and then shown the machine's, or a decision."""
        decided = self.decided.get(claim.id)
        by_me = decided is not None and decided.user_id == self.user.pk
        return by_me or (mine is not None and mine.machine_seen is not None)

    def _reprompt(self, claim: Claim, one: Reprompt, told: bool) -> Row:
        machine = self.machine.get((claim.id, one.id))
        row = {
            "id": str(one.id),
            "text": one.text,
            "user": name_of(one.user),
            "created": one.created.isoformat(),
            "state": "done" if machine else "failed" if one.error else "waiting",
            "error": one.error,
            "grounding": grounding_row(self.groundings.get((claim.id, one.id))),
        }
        return row | ({"machine": machine_row(machine)} if told else {})

    def _edit(self, edit: MaskEdit) -> Row:
        row = masking.row_of(edit)
        return cast(Row, _signed(row, edit.user) if self.open_to_all else row)


def _grouped(rows: QuerySet[Any]) -> dict[UUID, list[Any]]:
    found: dict[UUID, list[Any]] = defaultdict(list)
    for row in rows:
        found[row.claim_id].append(row)
    return found


def _signed(row: Row | None, user: User | None) -> Row:
    return (row or {}) | {"user": name_of(user)}


def grounding_row(found: Grounding | None) -> Row | None:
    if found is None:
        return None
    return {
        "queries": found.queries,
        "looked": found.looked,
        "inside": found.inside,
        "has_masks": bool(found.columns),
        "notes": found.notes,
        "seconds": found.seconds,
        "provenance": found.provenance,
    }


def machine_row(said: MachineVerdict | None) -> Row | None:
    if said is None:
        return None
    return {
        "name": said.name,
        "rule": said.rule,
        "sentence": said.sentence,
        "numbers": said.numbers,
        "provenance": said.provenance,
    }


def adjudication_row(said: AuditAdjudication | None) -> Row | None:
    if said is None:
        return None
    return {
        "id": str(said.id),
        "verdict": said.verdict,
        "relevance": said.relevance,
        "reason": said.reason,
        "user": name_of(said.user),
        "created": said.created.isoformat(),
    }


def _package(package: Package | None, claims: int) -> Row | None:
    if package is None:
        return None
    return {
        "language": package.language,
        "claims": claims,
        "dropped": package.tree.get("dropped", 0),
        "provenance": package.provenance,
        "raw": package.raw,
    }


def _seat(seat: Rating | None) -> Row | None:
    if seat is None:
        return None
    return {
        "until": seat.until.isoformat(),
        "left_s": round(max(0.0, (seat.until - timezone.now()).total_seconds()), 1),
        "completed": seat.completed.isoformat() if seat.completed else None,
    }


def _video(response: Response) -> Row:
    video = response.video
    return {
        "id": str(video.id),
        "name": video.name,
        "width": video.width,
        "height": video.height,
        "frames": video.frames,
        "has_pixels": video.has_pixels,
        "shots": video.shots,
    }


def _clip(response: Response) -> Row:
    seconds = frame_seconds(response.video)
    clip = response.clip
    return {
        "start": response.start,
        "end": response.end,
        "start_s": float(seconds[response.start]),
        "end_s": float(seconds[response.end]),
        "rendering": response.rendering,
        "id": str(clip.id) if clip else None,
        "ready": bool(clip and clip.ready),
    }


def clock_of(response: Response) -> Row:
    """Which source frame the clip shows when: of a cut clip its own clock, else that of the source."""
    clock = None
    if response.clip is not None and response.clip.ready:
        clock = stored_clock(response.clip)
    elif response.rendering == "grasp" and default_storage.exists(f"{response.folder}/clock.npz"):
        with storage.local(f"{response.folder}/clock.npz") as path:
            clock = ClipClock.load(path)
    if clock is not None:
        return {"frame": clock.frame.tolist(), "seconds": clock.seconds.tolist(), "end_s": clock.end_s}
    return source_clock(frame_seconds(response.video), response)


def source_clock(seconds: NDArray[np.float64], response: Response) -> Row:
    """The clock of a clip that shows every frame of its span."""
    start, end = response.start, response.end
    times = np.round(seconds[start : end + 1] - seconds[start], 6).tolist()
    return {"frame": list(range(start, end)), "seconds": times[:-1], "end_s": times[-1]}


def _people(response: Response) -> Row:
    """Printed tag -> whom it names, by the number of who they were merged into."""
    people = {str(person.id): person for person in Person.objects.filter(video=response.video_id)}

    def root(person: Person) -> Person:
        while person.merged_into_id is not None:
            person = people[str(person.merged_into_id)]
        return person

    found = {tag: root(people[id]) for tag, id in response.person_map.items() if id in people}
    return {
        tag: {"person": str(person.id), "number": person.number, "name": person.name or f"Person {person.number}"}
        for tag, person in found.items()
    }


# ---------------------------------------------------------------------------------------------------------------------
# Masks


def mask_files(response: Response, user: User, *, claims: Sequence[UUID] | None = None) -> list[Grounding]:
    """The groundings with masks whose columns this person may see, by claim; those of some claims only."""
    rows = Grounding.objects.filter(claim__response=response).exclude(columns="").select_related("claim", "reprompt")
    if claims is not None:
        rows = rows.filter(claim__in=claims)
    if response.audit.state == Audit.State.OPEN:
        rows = rows.filter(Q(reprompt=None) | Q(reprompt__user=user))
    return list(rows.order_by("claim__position", "id"))


def columns_of(response: Response, parts: Iterable[tuple[Grounding, Mapping[str, Any]]]) -> Row:
    """The masks of several groundings as columns, rows sorted by claim. `parts`: a grounding and its stored columns."""
    found: Row = {"v": 1, "size": None, "claims": [], "query": []}
    names = ("object", "frame", "person", "score", "tracker_score", "box", "area", "kind", "counts")
    found |= {name: [] for name in ("claim", "q", *names)}
    for grounding, stored in parts:
        found["size"] = found["size"] or stored["size"]
        claim = str(grounding.claim_id)
        if claim not in found["claims"]:
            found["claims"].append(claim)
        at = found["claims"].index(claim)
        first = len(found["query"])
        place = {query["id"]: first + n for n, query in enumerate(grounding.queries)}
        for query in grounding.queries:
            told = {"claim": at, "id": query["id"], "role": query["role"], "text": query["text"]}
            found["query"].append(told | {"reprompt": str(grounding.reprompt_id) if grounding.reprompt_id else None})
        found["claim"] += [at] * len(stored["frame"])
        found["q"] += [place[id] for id in stored["query"]]
        for name in names:
            found[name] += stored[name]
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Disputes


def disputes(audit: Audit, user: User) -> list[Row]:
    """Claims that this person may decide, with what each rater said blind."""
    ids = rating.disputed(audit, third=user)
    claims = {c.id: c for c in Claim.objects.filter(id__in=ids).select_related("response")}
    whole = {"claim__response__ratings__completed__isnull": False, "claim__response__ratings__user": F("user")}
    said = _grouped(HumanVerdict.objects.filter(claim__in=ids, **whole).select_related("user").order_by("created"))
    return [
        {
            "claim": str(id),
            "response": str(claims[id].response_id),
            "position": claims[id].response.position,
            "name": claims[id].name,
            "text": claims[id].body["text"],
            "verdicts": [
                {
                    "user": name_of(one.user),
                    "verdict": one.blind_verdict,
                    "relevance": one.blind_relevance,
                    "reason": one.reason,
                }
                for one in said[id]
            ],
        }
        for id in ids
    ]
