"""Audits: what a summariser and a grounder make of responses, written claim by claim as it comes.

Finished claims are in the database, finished steps of the one under way in the job's folder, so an attempt that starts
over does the rest only. A response nothing can be made of keeps its reason and what the summariser said; the others go
on, and the job says so at its end. Results and logs are read by everybody in the project: they hold counts, never a
verdict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from celery import Task

from ml.endpoint import BrokenReply
from ml.evidence import package as packages
from ml.formats.errors import FormatError
from ml.media.errors import MediaError
from webapp.audit import recording
from webapp.audit.models import Audit, Package, Reprompt, Response
from webapp.audit.recording import Found, Gone, Judged
from webapp.jobs.broker import app
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from workers.attempt import Attempt, run

if TYPE_CHECKING:
    from ml.evidence.grounding.protocol import Grounded, Grounder, Query, Window
    from ml.evidence.summarisers.protocol import Summariser
    from ml.evidence.verdicts import Verdict
    from workers.looking import Seen

TOUCHED = "touched"  # in the job's folder: ids of the responses beside which something was stored
SUMMARY = 0.1  # share of a response's work that making its package is counted as


@app.task(name="sightline.audit", bind=True)
def audit_responses(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, audit, tidy)


@app.task(name="sightline.reprompt", bind=True)
def look_for_wording(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, reprompt, tidy)


# ---------------------------------------------------------------------------------------------------------------------
# An audit


def audit(attempt: Attempt) -> None:
    from workers.asking_again import ask_all
    from workers.looking import opened

    wanted = Audit.objects.get(id=attempt.job.parameters["audit"])
    attempt.progress("load", 0.0)
    ids = recording.left(wanted)
    counts = {"responses": len(ids), "done": 0, "failed": 0, "gone": 0, "claims": 0}
    if not ids:
        counts["asked_again"] = ask_all(attempt, wanted)
        return attempt.finish(counts)
    waiting = Response.objects.filter(id__in=ids, state=Response.State.WAITING).exists()
    summariser = summariser_of(wanted) if waiting else None  # others have their package
    grounder = grounder_of(wanted)
    unusable_ones: list[int] = []
    groups = by_video(ids)
    done = 0
    for video_id, responses in groups:
        with opened(video_id, attempt.folder / "people" / str(video_id)) as seen:
            for response_id in responses:
                share = Share(attempt, done, len(ids))
                try:
                    counts["claims"] += one(attempt, response_id, seen, summariser, grounder, share)
                    counts["done"] += 1
                except Gone:
                    counts["gone"] += 1
                except Unusable as broken:
                    counts["failed"] += 1
                    unusable_ones.append(broken.position)
                done += 1
    attempt.progress("audit", 1.0)
    counts["asked_again"] = ask_all(attempt, wanted)
    if unusable_ones:
        first = f"the first is response {unusable_ones[0]}"
        raise Refused(f"{len(unusable_ones)} of {len(ids)} responses could not be processed; {first}.", "text")
    attempt.finish(counts)


class Unusable(Exception):
    """Nothing can be made of one response, named by its position; its row says why, which the job must not: its log and
    error outlive a video that is withdrawn."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class Share:
    """Progress of one response within the whole of an audit."""

    def __init__(self, attempt: Attempt, done: int, total: int) -> None:
        self.attempt, self.done, self.total = attempt, done, total

    def __call__(self, stage: str, share: float) -> None:
        part = share * SUMMARY if stage == "summary" else SUMMARY + share * (1 - SUMMARY)
        self.attempt.progress("audit", (self.done + min(part, 1.0)) / max(1, self.total))


def by_video(ids: Sequence[UUID]) -> list[tuple[Any, list[UUID]]]:
    """The responses of each video together, in their order."""
    found: dict[Any, list[UUID]] = {}
    homes = dict(Response.objects.filter(id__in=ids).values_list("id", "video"))
    for id in ids:
        if id in homes:
            found.setdefault(homes[id], []).append(id)
    return list(found.items())


def summariser_of(audit: Audit) -> Summariser:
    from ml.evidence.summarisers import registry

    try:
        return registry.load(audit.summariser, **audit.settings.get("summariser", {}))
    except ValueError as error:  # what is configured is not enough
        raise Refused(str(error), "summariser") from error


def grounder_of(audit: Audit) -> Grounder:
    from ml.evidence.grounding import registry

    try:
        return registry.load(audit.grounder)
    except ValueError as error:
        raise Refused(str(error), "grounder") from error


def one(
    attempt: Attempt, response_id: UUID, seen: Seen, summariser: Summariser | None, grounder: Grounder, share: Share
) -> int:
    """Everything of one response; how many claims it has. Raises Gone, Unusable."""
    from ml.evidence import pipeline
    from ml.evidence.summarisers.protocol import BrokenOutput
    from workers.looking import clock_of, tags_of

    response = Response.objects.select_related("clip").filter(id=response_id).first()
    if response is None:
        raise Gone
    store = Store(attempt, response, seen, grounder)
    kept = Package.objects.filter(response=response).exclude(tree={}).first()
    try:
        clock = clock_of(response, seen.footage.index)
        store.clock(clock)

        def on_package(made: packages.Package) -> None:
            store.package(made, clock)

        audited = pipeline.audit_response(
            plain(response),
            footage=seen.footage,
            clock=clock,
            person_map=tags_of(response, seen.numbers),
            summariser=summariser,
            grounder=grounder,
            truth=seen.truth,
            work=attempt.folder / "responses" / str(response.id),
            progress=share,
            package=packages.parse(kept.tree) if kept else None,
            done=frozenset(recording.settled(response)),
            on_package=None if kept else on_package,
            on_claim=store.claim,
        )
    except BrokenOutput as error:
        raise unusable(response, str(error), error.raw) from error
    except (BrokenReply, MediaError, FormatError) as error:
        raise unusable(response, str(error)) from error
    recording.keep_response(response_id=response.id)
    return len(audited.package.claims)


def unusable(response: Response, sentence: str, raw: str = "") -> Unusable:
    recording.fail_response(response_id=response.id, error=sentence, raw=raw)
    return Unusable(response.position)


@dataclass(frozen=True)
class Reply:
    """What the pipeline reads of `ml.formats.responses.Response`."""

    text: str
    question: str
    options: tuple[str, ...]
    answer: str


def plain(response: Response) -> Any:
    return Reply(response.text, response.asked, tuple(response.options), response.answer)


# ---------------------------------------------------------------------------------------------------------------------
# What is kept


class Store:
    """Writes what comes of one response: files first, then the rows that name them."""

    def __init__(self, attempt: Attempt, response: Response, seen: Seen, grounder: Grounder) -> None:
        from ml.evidence.grounding import registry

        self.attempt, self.response, self.seen = attempt, response, seen
        self.provenance = {**seen.about, "grounder": registry.describe(grounder)}

    def clock(self, clock: Any) -> None:
        """The clock of a clip that nobody cut and that shows not every frame, for pages."""
        if self.response.rendering == "grasp" and (self.response.clip is None or not self.response.clip.ready):
            path = self._scratch("clock.npz")
            clock.save(path)
            self._put(path)

    def package(self, made: packages.Package, clock: Any) -> None:
        from ml.evidence.grounding.windows import claimed_span

        windows = {c.id: claimed_span(c.time, clock) for c in made.claims if c.time.start_s is not None}
        text = hashlib.sha256(self.response.text.encode("utf-8", "surrogatepass")).hexdigest()
        recording.keep_package(
            response_id=self.response.id,
            made=made,
            tree=packages.to_json(made),
            windows=windows,
            provenance={**made.summariser, "rationale_sha256": made.rationale_sha256, "text_sha256": text},
        )

    def claim(
        self,
        claim: packages.Claim,
        queries: list[Query],
        window: Window | None,
        grounded: Grounded | None,
        verdict: Verdict,
    ) -> None:
        found = self.found(claim.id, queries, window, grounded)
        recording.keep_claim(response_id=self.response.id, name=claim.id, found=found, judged=self.judged(verdict))

    def judged(self, verdict: Verdict) -> Judged:
        about = {name: self.seen.about[name] for name in ("set", "revision", "run")}
        return Judged(verdict.name, verdict.rule, verdict.sentence, verdict.numbers, about)

    def found(self, name: str, queries: list[Query], window: Window | None, grounded: Grounded | None) -> Found | None:
        """What was found as it is stored, its masks in the response's folder; None where nothing was looked for."""
        import numpy as np

        from ml.evidence.columns import columns_of, query_rows
        from ml.media import masks as masks_file
        from ml.media.files import write_json

        if not queries:
            return None
        if grounded is None or window is None:
            rows = [{**row, "status": "error"} for row in query_rows(queries, None)]
            return Found(queries=rows, provenance=self.provenance)
        files = {"masks": "", "columns": ""}
        size = list(grounded.masks.size) if len(grounded.masks.frame) else None
        if len(grounded.masks.frame):
            packed, columns = self._scratch(f"{name}.parquet"), self._scratch(f"{name}.json")
            masks_file.write(packed, grounded.masks, {"claim": name, **self.provenance})
            write_json(columns, columns_of(grounded.masks))
            self._put(packed)
            self._put(columns)
            files = {"masks": packed.name, "columns": columns.name}
        return Found(
            queries=query_rows(queries, grounded),
            looked=grounded.looked.tolist(),
            inside=np.isin(grounded.looked, window.frame[window.inside]).tolist(),
            seconds=grounded.seconds,
            notes=grounded.notes,
            provenance={**self.provenance, "window": window.frame.tolist(), "size": size},
            **files,
        )

    def _scratch(self, name: str) -> Path:
        folder = self.attempt.folder / "store" / str(self.response.id)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    def _put(self, path: Path) -> None:
        said = self.attempt.folder / TOUCHED
        known = said.read_text().split() if said.exists() else []
        if str(self.response.id) not in known:
            with said.open("a") as file:
                file.write(f"{self.response.id}\n")
        storage.put(path, f"{self.response.folder}/{path.name}")


def tidy(job: Job | None, folder: Path) -> None:
    """Of a response that was erased while its masks were stored nothing is left."""
    said = folder / TOUCHED
    for id in said.read_text().split() if said.exists() else ():
        if not Response.objects.filter(id=id).exists():
            storage.delete_tree(f"responses/{id}")


# ---------------------------------------------------------------------------------------------------------------------
# Another wording


def reprompt(attempt: Attempt) -> None:
    from ml.evidence import pipeline
    from ml.evidence.grounding.windows import queries_of
    from workers.looking import clock_of, opened, tags_of

    attempt.progress("load", 0.0)
    rows = Reprompt.objects.select_related("claim__response__audit", "claim__response__clip")
    wanted = rows.filter(id=attempt.job.parameters["reprompt"]).first()
    if wanted is None:
        raise Refused("This wording is not wanted any more.", "text")
    response = wanted.claim.response
    grounder = grounder_of(response.audit)
    claim = packages.parse(response.package.tree).claims[wanted.claim.position - 1]
    other = reworded(claim, wanted.text)
    with opened(response.video_id, attempt.folder / "people") as seen:
        clock = clock_of(response, seen.footage.index)
        tags = tags_of(response, seen.numbers)
        queries = queries_of(other, tags)
        checked = pipeline.check(
            other, queries, footage=seen.footage, clock=clock, person_map=tags, grounder=grounder, truth=seen.truth,
            progress=lambda share: attempt.progress("look", share),
        )  # fmt: skip
        store = Store(attempt, response, seen, grounder)
        mark = wanted.id.hex[:8]
        asked = [query for query in queries if query.role == "phrase"]  # persons are for the verdict alone
        renamed_queries = [replace(query, id=f"{query.id}@{mark}") for query in asked]
        grounded = renamed(only(checked.grounded, asked), mark)
        found = store.found(f"reprompt-{wanted.id}", renamed_queries, checked.window, grounded)
        judged = store.judged(checked.verdict)
    if found is not None:
        found = replace(found, queries=[{**row, "role": "reprompt"} for row in found.queries])

    def write() -> None:
        try:
            recording.keep_reprompt(reprompt_id=wanted.id, found=found, judged=judged)
        except Gone:
            attempt.hold()  # the job went with its video: this says so
            raise Refused("This wording is not wanted any more.", "text") from None

    attempt.finish({"queries": len(queries)}, write)


def reworded(claim: packages.Claim, text: str) -> packages.Claim:
    """The claim with another phrase in the place of its first; it is looked for in any case."""
    first = claim.phrases[0] if claim.phrases else packages.Phrase(text, text)
    phrase = replace(first, text=text, head=text, attributes=(), negative=None)
    return replace(claim, phrases=(phrase,), groundable=True, why_not="")


def only(grounded: Grounded | None, asked: Sequence[Query]) -> Grounded | None:
    """What was found of some of the queries."""
    if grounded is None:
        return None
    import numpy as np

    from ml.media import masks as masks_file

    rows = np.isin(grounded.masks.query, [query.id for query in asked])
    return replace(grounded, masks=masks_file.picked(grounded.masks, rows))


def renamed(grounded: Grounded | None, mark: str) -> Grounded | None:
    """What was found under names of its own, beside those of the claim's own queries."""
    if grounded is None:
        return None
    import numpy as np

    def of(found: dict[str, Any]) -> dict[str, Any]:
        return {f"{id}@{mark}": value for id, value in found.items()}

    query = np.array([f"{id}@{mark}" for id in grounded.masks.query], np.str_)
    return replace(
        grounded,
        masks=replace(grounded.masks, query=query),
        status=of(grounded.status),
        sentence=of(grounded.sentence),
        attributes_checked=of(grounded.attributes_checked),
    )
