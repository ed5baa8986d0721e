"""Who gets what from every address: one table, walked over every role.

An address or API operation that is not in the table fails the test, so nothing is added without saying who may use it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from webapp.accounts.models import Membership
from webapp.events.models import AnnotationSet, Derivation, Event
from webapp.jobs.models import Job
from webapp.library.models import Upload
from webapp.tracks.models import Run

WHO = ("anonymous", "outsider", "viewer", "annotator", "reviewer", "curator", "admin", "root")
PERSON = {
    "outsider": "charlie",
    "viewer": "vera",
    "annotator": "bob",
    "reviewer": "rita",
    "curator": "cora",
    "admin": "alice",
    "root": "root",
}


@dataclass(frozen=True)
class Row:
    """One operation: method, address pattern, and the least role that may use it.

    `least` is a role, "anybody" (no login), "login" (any), "root", or "own" (the row's owner only,
    with the role in `role`). `fine` are the statuses that mean "allowed": a request without a sensible body is answered
    with 4xx of its own, never with 401, 403 or 404.
    """

    method: str
    pattern: str
    least: str
    body: Any = None
    fine: tuple[int, ...] = (200, 204, 302, 409, 422)
    role: str = ""


API = "/api/v1"
SOME_EDIT = {"id": str(uuid4()), "kind": "unknown", "object": str(uuid4())}
SOME_ANSWER = {"id": str(uuid4()), "chosen": ["a"]}
SOME_VERDICT = {"id": str(uuid4()), "verdict": "reject", "reason": "It makes no sense."}
SOME_WORD = {"id": str(uuid4()), "verdict": "supported"}
SOME_STEP = {"id": str(uuid4()), "kind": "delete", "edits": []}
SOME_FILLING = {"id": str(uuid4()), "query": "phrase-1", "object": 1, "frames": [120]}
SOME_RUN = {"stage": "grpo", "snapshot": 1, "preset": "tiny-cpu", "base_model": "tiny"}
TABLE = [
    # accounts
    Row("GET", "/login/", "anybody"),
    Row("POST", "/login/", "anybody"),
    Row("POST", "/logout/", "anybody"),
    Row("GET", "/link/<str:token>/", "anybody", fine=(200, 410)),
    Row("POST", "/link/<str:token>/", "anybody", fine=(302, 410)),
    Row("GET", "/me/", "login"),
    Row("POST", "/me/name/", "login"),
    Row("POST", "/me/password/", "login"),
    Row("POST", "/me/keys/", "login"),
    Row("GET", "/users/", "root"),
    Row("POST", "/users/", "root"),
    Row("POST", "/users/<int:user_id>/", "root"),
    Row("GET", "/p/<slug:slug>/members/", "viewer"),
    Row("POST", "/p/<slug:slug>/members/", "admin"),
    Row("POST", "/p/<slug:slug>/members/<uuid:member_id>/", "admin"),
    Row("GET", f"{API}/session", "anybody"),
    Row("POST", f"{API}/session/login", "anybody", {"username": "nobody", "password": "wrong"}, fine=(401,)),
    Row("GET", f"{API}/me", "login"),
    Row("PATCH", f"{API}/me/preferences", "login", {"theme": "dark"}),
    # library
    Row("GET", "/", "login"),
    Row("GET", "/p/new/", "root"),
    Row("POST", "/p/new/", "root"),
    Row("GET", "/p/<slug:slug>/", "viewer"),
    Row("GET", "/p/<slug:slug>/settings/", "admin"),
    Row("POST", "/p/<slug:slug>/settings/", "admin"),
    Row("GET", "/p/<slug:slug>/upload/", "curator"),
    Row("POST", "/p/<slug:slug>/perceive/", "curator"),
    Row("GET", "/v/<uuid:video_id>/details/", "viewer"),
    Row("POST", "/v/<uuid:video_id>/details/", "curator"),
    Row("POST", "/v/<uuid:video_id>/perceive/", "curator"),
    Row("POST", "/v/<uuid:video_id>/delete/", "admin"),
    Row("GET", "/v/<uuid:video_id>/original/", "curator"),
    Row("GET", "/v/<uuid:video_id>/media/<video_piece:piece>", "viewer"),
    Row("POST", "/v/<uuid:video_id>/runs/<uuid:run_id>/accept/", "curator"),
    Row("GET", "/v/<uuid:video_id>/runs/<uuid:run_id>/<run_piece:piece>", "viewer"),
    Row("GET", f"{API}/projects", "login"),
    Row("GET", f"{API}/projects/<slug:slug>", "viewer"),
    Row("GET", f"{API}/projects/<slug:slug>/videos", "viewer"),
    Row("POST", f"{API}/projects/<slug:slug>/uploads", "curator", {"name": "a.mp4", "size": 10}),
    Row("GET", f"{API}/uploads/<uuid:upload_id>", "own", role="curator"),
    Row("PUT", f"{API}/uploads/<uuid:upload_id>", "own", role="curator"),
    Row("POST", f"{API}/uploads/<uuid:upload_id>/finish", "own", {}, role="curator"),
    Row("DELETE", f"{API}/uploads/<uuid:upload_id>", "own", role="curator"),
    # jobs: one's own may be cancelled by its owner; this one is nobody's
    Row("GET", "/p/<slug:slug>/jobs/", "viewer"),
    Row("GET", f"{API}/jobs", "login"),
    Row("GET", f"{API}/jobs/<uuid:job_id>", "viewer"),
    Row("POST", f"{API}/jobs/<uuid:job_id>/cancel", "curator"),
    Row("POST", f"{API}/jobs/<uuid:job_id>/retry", "curator"),
    Row("GET", f"{API}/projects/<slug:slug>/jobs/stream", "viewer"),
    # bench
    Row("GET", "/p/<slug:slug>/bench/", "viewer"),
    Row("POST", "/p/<slug:slug>/bench/run/", "curator"),
    Row("POST", "/p/<slug:slug>/bench/selected/", "curator"),
    Row("GET", "/p/<slug:slug>/bench/settings/", "curator"),
    Row("POST", "/p/<slug:slug>/bench/settings/", "curator"),
    Row("GET", "/p/<slug:slug>/bench/composition.csv", "viewer"),
    Row("GET", "/p/<slug:slug>/bench/answer/", "annotator"),
    Row("GET", "/p/<slug:slug>/bench/adjudicate/", "reviewer"),
    Row("POST", "/p/<slug:slug>/bench/adjudicate/", "reviewer"),
    Row("GET", "/p/<slug:slug>/bench/questions/new/", "curator"),
    Row("POST", "/p/<slug:slug>/bench/questions/new/", "curator"),
    Row("GET", "/q/<uuid:question_id>/edit/", "curator"),
    Row("POST", "/q/<uuid:question_id>/edit/", "curator"),
    Row("GET", "/clips/<uuid:clip_id>/clip.mp4", "viewer"),
    Row("GET", "/p/<slug:slug>/bench/releases/", "viewer"),
    Row("POST", "/p/<slug:slug>/bench/releases/", "curator"),
    Row("GET", "/p/<slug:slug>/bench/releases/<int:number>/", "viewer"),
    Row("POST", "/p/<slug:slug>/bench/releases/<int:number>/retire/", "curator"),
    Row("GET", "/p/<slug:slug>/bench/releases/<int:number>/files/<str:name>", "curator"),
    Row("GET", f"{API}/projects/<slug:slug>/bench", "viewer"),
    Row("PATCH", f"{API}/projects/<slug:slug>/bench", "curator", {"raters": 3}),
    Row("GET", f"{API}/projects/<slug:slug>/questions", "viewer"),
    Row("POST", f"{API}/projects/<slug:slug>/questions/open", "curator", {"ids": []}),
    Row("POST", f"{API}/projects/<slug:slug>/questions/discard", "curator", {"ids": []}),
    Row("POST", f"{API}/projects/<slug:slug>/bench/next", "annotator"),
    Row("POST", f"{API}/projects/<slug:slug>/bench/generate", "curator", {}),
    Row("POST", f"{API}/projects/<slug:slug>/bench/write", "curator", {}),
    Row("POST", f"{API}/projects/<slug:slug>/bench/prove", "curator"),
    Row("POST", f"{API}/projects/<slug:slug>/bench/agreement", "curator"),
    Row("GET", f"{API}/videos/<uuid:video_id>/questions", "viewer"),
    Row("GET", f"{API}/questions/<uuid:question_id>", "viewer"),
    Row("POST", f"{API}/questions/<uuid:question_id>/reveal", "reviewer"),
    Row("PATCH", f"{API}/questions/<uuid:question_id>", "curator", {"version": 1, "fields": {"text": "Who else?"}}),
    Row("POST", f"{API}/questions/<uuid:question_id>/sign", "curator", {"version": 1}),
    Row("POST", f"{API}/questions/<uuid:question_id>/answer", "annotator", SOME_ANSWER),
    Row("POST", f"{API}/questions/<uuid:question_id>/give-back", "annotator"),
    Row("POST", f"{API}/questions/<uuid:question_id>/adjudicate", "reviewer", SOME_VERDICT),
    # audits: this one is finished, so everybody in the project reads it
    Row("GET", "/p/<slug:slug>/audits/", "viewer"),
    Row("GET", "/p/<slug:slug>/audits/new/", "curator"),
    Row("POST", "/p/<slug:slug>/audits/new/", "curator"),
    Row("POST", "/p/<slug:slug>/audits/produce/", "curator"),
    Row("GET", "/p/<slug:slug>/audits/<int:number>/", "viewer"),
    Row("POST", "/p/<slug:slug>/audits/<int:number>/start/", "curator"),
    Row("POST", "/p/<slug:slug>/audits/<int:number>/finish/", "curator"),
    Row("POST", "/p/<slug:slug>/audits/<int:number>/settings/", "curator"),
    Row("POST", "/p/<slug:slug>/audits/<int:number>/next/", "reviewer"),
    Row("GET", "/p/<slug:slug>/audits/<int:number>/adjudicate/", "reviewer"),
    Row("GET", "/p/<slug:slug>/audits/<int:number>/report/", "viewer"),
    Row("GET", "/p/<slug:slug>/audits/<int:number>/report/<str:kind>", "curator"),
    Row("GET", "/audit/responses/<uuid:response_id>/", "viewer"),
    Row("POST", "/audit/responses/<uuid:response_id>/take/", "reviewer"),
    Row("POST", "/audit/responses/<uuid:response_id>/give-back/", "reviewer"),
    Row("GET", f"{API}/projects/<slug:slug>/audits", "viewer"),
    Row("POST", f"{API}/projects/<slug:slug>/audits", "curator", {}),
    Row("POST", f"{API}/projects/<slug:slug>/audits/produce", "curator", {}),
    Row("GET", f"{API}/audits/<uuid:audit_id>", "viewer"),
    Row("PATCH", f"{API}/audits/<uuid:audit_id>", "curator", {"version": 1, "raters": 3}),
    Row("POST", f"{API}/audits/<uuid:audit_id>/start", "curator"),
    Row("POST", f"{API}/audits/<uuid:audit_id>/finish", "curator", {"version": 1}),
    Row("POST", f"{API}/audits/<uuid:audit_id>/report", "curator"),
    Row("GET", f"{API}/audits/<uuid:audit_id>/report", "viewer"),
    Row("GET", f"{API}/audits/<uuid:audit_id>/agreement", "viewer"),
    Row("GET", f"{API}/audits/<uuid:audit_id>/compare/<uuid:other_id>", "viewer"),
    Row("GET", f"{API}/audits/<uuid:audit_id>/disputes", "reviewer"),
    Row("POST", f"{API}/audits/<uuid:audit_id>/next", "reviewer"),
    Row("GET", f"{API}/audit/responses/<uuid:response_id>", "viewer"),
    Row("GET", f"{API}/audit/responses/<uuid:response_id>/masks", "viewer"),
    Row("POST", f"{API}/audit/responses/<uuid:response_id>/complete", "reviewer"),
    Row("POST", f"{API}/audit/responses/<uuid:response_id>/give-back", "reviewer"),
    Row("GET", f"{API}/audit/claims/<uuid:claim_id>/masks", "viewer"),
    Row("PUT", f"{API}/audit/claims/<uuid:claim_id>/verdict", "reviewer", SOME_WORD),
    Row("DELETE", f"{API}/audit/claims/<uuid:claim_id>/verdict", "reviewer", {"version": 1}),
    Row("POST", f"{API}/audit/claims/<uuid:claim_id>/reveal", "reviewer"),
    Row("POST", f"{API}/audit/claims/<uuid:claim_id>/adjudicate", "reviewer", SOME_WORD | {"reason": "So."}),
    Row("POST", f"{API}/audit/claims/<uuid:claim_id>/masks", "reviewer", SOME_STEP),
    Row("POST", f"{API}/audit/claims/<uuid:claim_id>/masks/undo", "reviewer", {}),
    Row("POST", f"{API}/audit/claims/<uuid:claim_id>/masks/propagate", "reviewer", SOME_FILLING),
    Row("POST", f"{API}/audit/claims/<uuid:claim_id>/reprompts", "reviewer", {"id": str(uuid4()), "text": "a dog"}),
    # training: pages
    Row("GET", "/p/<slug:slug>/runs/", "viewer"),
    Row("GET", "/p/<slug:slug>/runs/new/", "admin"),
    Row("POST", "/p/<slug:slug>/runs/new/", "admin"),
    Row("GET", "/p/<slug:slug>/runs/compare/", "viewer"),
    Row("GET", "/p/<slug:slug>/runs/<int:number>/", "viewer"),
    Row("GET", "/p/<slug:slug>/runs/<int:number>/edit/", "admin"),
    Row("POST", "/p/<slug:slug>/runs/<int:number>/edit/", "admin"),
    Row("GET", "/p/<slug:slug>/runs/<int:number>/metrics.csv", "viewer"),
    Row("GET", "/p/<slug:slug>/runs/<int:number>/folder.tar", "admin"),
    Row("GET", "/p/<slug:slug>/runs/<int:number>/rollouts/", "reviewer"),
    Row("GET", "/p/<slug:slug>/runs/<int:number>/rollouts/<int:rollout_id>/", "reviewer"),
    Row("GET", "/p/<slug:slug>/snapshots/", "viewer"),
    Row("POST", "/p/<slug:slug>/snapshots/", "admin"),
    Row("GET", "/p/<slug:slug>/snapshots/<int:number>/", "viewer"),
    # evaluations: keys show item by item
    Row("GET", "/p/<slug:slug>/leaderboard/", "viewer"),
    Row("GET", "/p/<slug:slug>/leaderboard/table.csv", "viewer"),
    Row("GET", "/p/<slug:slug>/leaderboard/table.json", "viewer"),
    Row("GET", "/p/<slug:slug>/evaluations/new/", "admin"),
    Row("POST", "/p/<slug:slug>/evaluations/new/", "admin"),
    Row("GET", "/p/<slug:slug>/evaluations/<int:number>/", "viewer"),
    Row("POST", "/p/<slug:slug>/evaluations/<int:number>/stop/", "admin"),
    Row("POST", "/p/<slug:slug>/evaluations/<int:number>/again/", "admin"),
    Row("GET", "/p/<slug:slug>/evaluations/<int:number>/items/", "reviewer"),
    Row("GET", "/p/<slug:slug>/evaluations/<int:number>/files/<slug:what>", "viewer"),
    Row("GET", "/p/<slug:slug>/evaluations/<int:number>/items/<slug:lines>", "curator"),
    Row("GET", f"{API}/questions/<uuid:question_id>/runs", "viewer"),
    # training: snapshots and runs; rollouts and logs show keys
    Row("GET", f"{API}/projects/<slug:slug>/models", "admin"),
    Row("GET", f"{API}/projects/<slug:slug>/snapshots", "viewer"),
    Row("POST", f"{API}/projects/<slug:slug>/snapshots", "admin", {}),
    Row("GET", f"{API}/projects/<slug:slug>/snapshots/<int:number>", "viewer"),
    Row("GET", f"{API}/projects/<slug:slug>/snapshots/<int:number>/items", "viewer"),
    Row("DELETE", f"{API}/projects/<slug:slug>/snapshots/<int:number>", "admin"),
    Row("GET", f"{API}/projects/<slug:slug>/runs", "viewer"),
    Row("POST", f"{API}/projects/<slug:slug>/runs", "admin", SOME_RUN),
    Row("GET", f"{API}/projects/<slug:slug>/runs/compare", "viewer"),
    Row("PATCH", f"{API}/projects/<slug:slug>/runs/<int:number>", "admin", {"version": 1, "name": "Another"}),
    Row("GET", f"{API}/projects/<slug:slug>/runs/<int:number>/state", "viewer"),
    Row("GET", f"{API}/projects/<slug:slug>/runs/<int:number>/metrics", "viewer"),
    Row("GET", f"{API}/projects/<slug:slug>/runs/<int:number>/checkpoints", "viewer"),
    Row("GET", f"{API}/projects/<slug:slug>/runs/<int:number>/lineage", "viewer"),
    Row("GET", f"{API}/projects/<slug:slug>/runs/<int:number>/stream", "viewer"),
    Row("GET", f"{API}/projects/<slug:slug>/runs/<int:number>/log", "reviewer"),
    Row("GET", f"{API}/projects/<slug:slug>/runs/<int:number>/rollouts", "reviewer"),
    Row("GET", f"{API}/projects/<slug:slug>/runs/<int:number>/final", "admin"),
    Row("GET", f"{API}/projects/<slug:slug>/runs/<int:number>/export", "admin"),
    Row("POST", f"{API}/projects/<slug:slug>/runs/<int:number>/name", "admin", {"version": 1, "name": "Another"}),
    Row("POST", f"{API}/projects/<slug:slug>/runs/<int:number>/preflight", "admin"),
    Row("POST", f"{API}/projects/<slug:slug>/runs/<int:number>/start", "admin", {"version": 1}),
    Row("POST", f"{API}/projects/<slug:slug>/runs/<int:number>/stop", "admin", {"version": 1}),
    Row("POST", f"{API}/projects/<slug:slug>/runs/<int:number>/resume", "admin", {"version": 1}),
    Row("POST", f"{API}/projects/<slug:slug>/runs/<int:number>/clone", "admin"),
    Row("POST", f"{API}/projects/<slug:slug>/runs/<int:number>/delete", "admin", {"version": 1}),
    # tracks and events
    Row("GET", "/v/<uuid:video_id>/", "viewer"),
    Row("GET", "/p/<slug:slug>/triage/", "annotator"),
    Row("GET", f"{API}/projects/<slug:slug>/triage", "annotator"),
    Row("GET", f"{API}/videos/<uuid:video_id>/bundle", "viewer"),
    Row("GET", f"{API}/videos/<uuid:video_id>/frames", "viewer"),
    Row("GET", f"{API}/videos/<uuid:video_id>/changes", "viewer"),
    Row("GET", f"{API}/videos/<uuid:video_id>/graph", "viewer"),
    Row("GET", f"{API}/videos/<uuid:video_id>/undoable", "annotator"),
    Row("GET", f"{API}/videos/<uuid:video_id>/stream", "viewer"),
    Row("POST", f"{API}/videos/<uuid:video_id>/edits", "annotator", SOME_EDIT),
    Row("GET", f"{API}/events/<uuid:event_id>", "viewer"),
    Row("POST", f"{API}/events/<uuid:event_id>/comments", "annotator", {"id": str(uuid4()), "text": "why"}),
    Row("POST", f"{API}/videos/<uuid:video_id>/derive", "annotator", {}),
    Row("POST", f"{API}/videos/<uuid:video_id>/gestures", "curator", {}),
    Row("GET", f"{API}/derivations/<uuid:derivation_id>", "viewer"),
    Row("POST", f"{API}/derivations/<uuid:derivation_id>/apply", "annotator"),
    Row("POST", f"{API}/videos/<uuid:video_id>/perceive", "curator", {}),
    Row("POST", f"{API}/videos/<uuid:video_id>/masks", "curator"),
    Row("GET", f"{API}/videos/<uuid:video_id>/masks", "viewer"),
    Row("GET", f"{API}/runs/<uuid:run_id>", "viewer"),
    Row("POST", f"{API}/runs/<uuid:run_id>/accept", "curator"),
    Row("POST", f"{API}/runs/<uuid:run_id>/discard", "curator"),
]


# ---------------------------------------------------------------------------------------------------------------------
# What there is


def pages(resolver: URLResolver, before: str = "/") -> Iterator[str]:
    """Patterns of every page, below the API's prefix excepted."""
    for entry in resolver.url_patterns:
        path = before + str(entry.pattern)
        if isinstance(entry, URLPattern):
            yield path
        elif not path.startswith(f"{API}/"):
            yield from pages(entry, path)


def operations() -> Iterator[tuple[str, str]]:
    """(method, pattern) of every operation of the API."""
    from webapp.api import api

    for prefix, router in api._routers:
        for path, view in router.path_operations.items():
            pattern = f"{API}{prefix}{path}".replace("{", "<").replace("}", ">").replace("//", "/")
            pattern = pattern.replace("<uuidstr:", "<uuid:")
            for operation in view.operations:
                for method in operation.methods:
                    yield method, pattern


def test_it_names_every_page() -> None:
    named = {row.pattern for row in TABLE}
    missing = sorted(set(pages(get_resolver())) - named)
    assert not missing, f"Say in TABLE who may open: {missing}"


def test_it_names_every_operation_of_the_api() -> None:
    named = {(row.method, row.pattern) for row in TABLE}
    missing = sorted(set(operations()) - named)
    assert not missing, f"Say in TABLE who may call: {missing}"


def test_it_names_nothing_that_is_gone() -> None:
    there = {("*", p) for p in pages(get_resolver())} | set(operations())
    gone = [r.pattern for r in TABLE if ("*", r.pattern) not in there and (r.method, r.pattern) not in there]
    assert not gone, f"No longer there: {gone}"


# ---------------------------------------------------------------------------------------------------------------------
# Who gets what


@pytest.fixture
def place(people: SimpleNamespace, video: Any) -> dict[str, Any]:
    """One of everything in project `one`, by the names of the address patterns."""
    from django.core.files.base import ContentFile
    from django.core.files.storage import default_storage

    run = Run.objects.create(video=video, profile="embedded", manifest={"rate": 2, "tracks": [], "shots": []})
    job = Job.objects.create(project=people.one, video=video, kind="perceive", queue="gpu")
    nothing: dict[str, list[Any]] = {"added": [], "changed": [], "removed": [], "attached": []}
    derivation = Derivation.objects.create(video=video, run=run, revision=0, difference=nothing)
    working = AnnotationSet.objects.create(video=video, kind="working")
    event = Event.objects.create(
        set=working, video=video, modality="gaze", type="mutual_gaze", start=0, end=5, origin="human"
    )
    upload = Upload.objects.create(project=people.one, user=people.cora, name="a.mp4", size=10)
    for name in (f"{video.blob.folder}/poster.jpg", video.blob.original, f"{run.folder}/tracks.bin"):
        default_storage.save(name, ContentFile(b"0123456789"))
    times = BytesIO()
    np.savez(times, pts=np.arange(1001), time_base=np.array([1, 25]))
    default_storage.save(f"{video.blob.folder}/frames.npz", ContentFile(times.getvalue()))
    return {
        "slug": "one",
        "video_id": video.id,
        "run_id": run.id,
        "job_id": job.id,
        "derivation_id": derivation.id,
        "event_id": event.id,
        "upload_id": upload.id,
        "member_id": Membership.objects.get(project=people.one, user=people.vera).id,
        "user_id": people.vera.id,
        "token": "unknown",
        "piece": "poster.jpg",
        **bench(people, video),
        **audit(people, video),
        **evaluation(people),
        **training(people),
    }


def training(people: SimpleNamespace) -> dict[str, Any]:
    """A draft on a snapshot, both number 1, with a rollout and a folder."""
    from tests.browser.runs import seed
    from webapp.runs import folders
    from webapp.runs.models import Rollout

    run = seed.make_run(seed.make_snapshot(people.one, people.alice), people.alice, state="draft")
    seed.keep_rollout(run, 1)
    folder = folders.run(run.id)
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    return {"rollout_id": Rollout.objects.get().id}


def evaluation(people: SimpleNamespace) -> dict[str, Any]:
    """A finished evaluation with its files, of a release of its own."""
    from webapp.bench.models import Release
    from webapp.runs import folders
    from webapp.runs.models import Evaluation

    release = Release.objects.create(project=people.one, number=2, sha256="12" * 32)
    fields = {"name": "m", "model": "m", "model_kind": "predictions", "settings": {"seed": 0}, "state": "done"}
    made = Evaluation.objects.create(project=people.one, number=1, release=release, **fields)
    folder = folders.evaluation(made.id)
    folder.mkdir(parents=True)
    for name in ("results.json", "items.jsonl"):
        (folder / name).write_text("{}\n")
    return {"what": "results", "lines": "items"}


def audit(people: SimpleNamespace, video: Any) -> dict[str, Any]:
    """A finished audit, which is compared with itself, and a response with claims."""
    from tests.webapp.audit.made import make_scene

    scene = make_scene(video, people.cora)
    scene.audit.state = "finished"
    scene.audit.save()
    ids = {"audit_id": scene.audit.id, "other_id": scene.audit.id, "claim_id": scene.claims[0].id}
    return ids | {"response_id": scene.response.id, "kind": "json"}


def bench(people: SimpleNamespace, video: Any) -> dict[str, Any]:
    """A draft, its cut clip and a release."""
    from django.core.files.base import ContentFile
    from django.core.files.storage import default_storage

    from webapp.bench.models import Clip, Question, Release

    clip = Clip.objects.create(video=video, start=0, end=50, rendering="clean", recipe="cd" * 32, ready=True)
    default_storage.save(f"{clip.folder}/clip.mp4", ContentFile(b"0123456789"))
    question = Question.objects.create(
        project=people.one, video=video, clip=clip, number=1, category="mutual_gaze", difficulty="medium",
        text="Who?", shown="Who?", kind="open", key=["nobody"], start=0, end=50,
    )  # fmt: skip
    release = Release.objects.create(project=people.one, number=1, sha256="ef" * 32)
    default_storage.save(f"{release.folder}/items.json", ContentFile(b"[]"))
    return {"question_id": question.id, "clip_id": clip.id, "number": release.number, "name": "items.json"}


def address(row: Row, place: dict[str, Any]) -> str:
    """The pattern with its parts filled in."""
    parts = []
    for part in row.pattern.split("/"):
        name = part.strip("<>").rpartition(":")[2]
        value = "tracks.bin" if "run_piece" in part else place.get(name)
        parts.append(str(value) if part.startswith("<") else part)
    query = {f"{API}/uploads/<uuid:upload_id>": "?offset=0", f"{API}/videos/<uuid:video_id>/changes": "?since=0"}
    return "/".join(parts) + query.get(row.pattern, "")


def ask(client: Client, row: Row, place: dict[str, Any]) -> Any:
    options: dict[str, Any] = {}
    if row.method != "GET" and row.pattern.startswith(API):
        options = {"data": json.dumps(row.body), "content_type": "application/json"} if row.body is not None else {}
    response = getattr(client, row.method.lower())(address(row, place), **options)
    return response


def expected(row: Row, who: str) -> set[int]:
    api = row.pattern.startswith(API)
    fine = set(row.fine)
    ranks = ("viewer", "annotator", "reviewer", "curator", "admin", "root")
    if row.least == "anybody":
        return fine
    if who == "anonymous":
        return {401} if api else {302}
    if row.least == "login":
        return fine
    if row.least == "root":
        return fine if who == "root" else {403}
    if row.least == "own":
        return fine if who == row.role else {404}
    if who == "outsider":
        return {404}
    return fine if ranks.index(who) >= ranks.index(row.least) else {403}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.method} {row.pattern}")
def test_it_answers_by_role(
    row: Row, people: SimpleNamespace, place: dict[str, Any], as_user: Any, no_broker: None
) -> None:
    for who in WHO:
        if row.pattern.endswith("/stream") and who not in ("anonymous", "outsider"):
            continue  # an open stream does not end; `test_streams` listens to it
        client = Client() if who == "anonymous" else as_user(getattr(people, PERSON[who]))
        with undone():
            response = ask(client, row, place)
        status = response.status_code
        assert status in expected(row, who), f"{who}: {row.method} {row.pattern} gave {status}"
        if status == 302 and who == "anonymous" and row.least != "anybody":
            assert response.headers["Location"].startswith("/login/?next=")


@contextmanager
def undone() -> Iterator[None]:
    """What is done inside is taken back, so that each role meets the same things."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are rows here; nobody has to be told."""
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)


# ---------------------------------------------------------------------------------------------------------------------
# Foreign ids, wrong verbs, empty bodies

OTHER_VERBS = ("get", "post", "put", "patch", "delete")


@pytest.mark.parametrize("pattern", sorted({row.pattern for row in TABLE if not row.pattern.endswith("/stream")}))
def test_it_changes_nothing_for_an_outsider_with_any_verb(
    pattern: str, people: SimpleNamespace, place: dict[str, Any], as_user: Any, no_broker: None
) -> None:
    """Checks have been forgotten for a PATCH with an empty body elsewhere: an outsider tries every verb with one."""
    rows = [row for row in TABLE if row.pattern == pattern]
    client = as_user(people.charlie)
    for verb in OTHER_VERBS:
        known = next((row for row in rows if row.method == verb.upper()), None)
        response = getattr(client, verb)(
            address(rows[0], place), **({} if verb == "get" else {"data": "{}", "content_type": "application/json"})
        )
        if rows[0].least in ("anybody", "login"):
            assert response.status_code < 500
        elif known is None:
            if verb == "get" and response.status_code == 302:  # to the page of a form, which is not theirs either
                response = client.get(response["Location"])
            assert response.status_code in (403, 404, 405), f"{verb} {pattern} gave {response.status_code}"
        else:
            # where a body is required, it is read before the id is looked up
            refused = (403, 404) if known.body is None else (403, 404, 422)
            assert response.status_code in refused, f"{verb} {pattern} gave {response.status_code}"


WITH_IDS = [row for row in TABLE if "uuid" in row.pattern]


@pytest.mark.parametrize("row", WITH_IDS, ids=lambda row: f"{row.method} {row.pattern}")
def test_it_does_not_know_ids_that_are_not_there(
    row: Row, people: SimpleNamespace, place: dict[str, Any], as_user: Any, no_broker: None
) -> None:
    missing = {name: uuid4() if isinstance(value, UUID) else value for name, value in place.items()}
    if row.pattern.endswith("/stream"):
        missing["slug"] = "nowhere"
    assert ask(as_user(people.root), row, missing).status_code == 404


def test_a_removed_member_is_out_at_once(people: SimpleNamespace, place: dict[str, Any], as_user: Any) -> None:
    client = as_user(people.vera)
    assert client.get("/p/one/").status_code == 200
    Membership.objects.filter(user=people.vera).delete()
    assert client.get("/p/one/").status_code == 404


def test_a_deactivated_user_is_out_at_once(people: SimpleNamespace, place: dict[str, Any], as_user: Any) -> None:
    client = as_user(people.vera)
    people.vera.is_active = False
    people.vera.save()
    assert client.get("/p/one/").status_code == 302
    assert client.get(f"{API}/me").status_code == 401


def test_a_new_user_sees_nothing_of_others(people: SimpleNamespace, place: dict[str, Any], as_user: Any) -> None:
    from webapp.accounts.models import User

    client = as_user(User.objects.create(username="new"))
    assert client.get(f"{API}/projects").json() == []
    assert client.get(f"{API}/jobs").json() == []
    assert b"One" not in client.get("/").content
