"""The deletion test as part of an audit's job; the endpoint is a scripted server over real HTTP, the pictures are a
real file's, and the grounder finds every "person" in the left half of the picture."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ml.endpoint import Config
from ml.evidence import deletion
from ml.evidence.grounding import registry
from ml.evidence.grounding.registry import About
from ml.media import clips
from ml.media.decode import read_frames
from ml.media.index import FrameIndex
from ml.questions.clip import ClipClock
from tests.ml.endpoint.server import KEY, Answer, Server, says
from tests.workers import filmed
from webapp.accounts.models import User
from webapp.accounts.permissions import Role
from webapp.audit import forms, producing, queries, report_pictures, reporting, services
from webapp.audit.models import Audit, Claim, MachineVerdict, Response
from webapp.audit.services import Draft, create_audit
from webapp.bench.clips import appearances
from webapp.bench.models import Bench
from webapp.bench.services import bench_of
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Project, Video
from workers.attempt import run
from workers.tasks import audit_reporting, auditing
from workers.tasks.clipping import tracks

RESTS = "Person 0 is visible at 1.0 s."  # whom the answer names
NOT = "Person 1 feels sad."
FACE, BESIDE = (slice(142, 164), slice(74, 86)), (slice(142, 164), slice(150, 170))  # of person 0, and no face


@pytest.fixture
def video(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Video:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    scripted = About("tests.workers.scripted_grounder", "Scripted", "Scripted.")
    monkeypatch.setitem(registry.GROUNDERS, "embedded", scripted)
    return filmed.make(project, *filmed.source(tmp_path), tmp_path)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], Server]]:
    running: list[Server] = []

    def start(script: Any) -> Server:
        running.append(Server(script).__enter__())
        values = {"URL": running[-1].config().url, "MODEL": "m-1", "KEY": KEY, "RATE": "6000", "ATTEMPTS": "1"}
        for name, value in (values | {"TIMEOUT": "1", "PRICE_IN": "10", "PRICE_OUT": "100"}).items():
            monkeypatch.setenv(f"SIGHTLINE_ENDPOINT_{name}", value)
        return running[-1]

    yield start
    for server in running:
        server.__exit__(None, None, None)


def make(video: Video, *texts: str, deletion: bool = True, rendering: str = "tags") -> Audit:
    people = {str(person.number): str(person.id) for person in video.persons.all()}
    drafts = [
        Draft(
            video=video, start=0, end=100, rendering=rendering, model="m", text=text, digest=f"{n:064d}", answer="A",
            person_map=people, asked="Who?", options=["Person 0", "Person 1"], letters=["A"], key=["A"], correct=True,
        )
        for n, text in enumerate(texts)
    ]  # fmt: skip
    return create_audit(
        project=video.project, user=None, source="file:made", drafts=drafts, deletion=deletion, raters=1
    ).audit


def do(audit: Audit) -> Job:
    job = services.request_audit(audit=audit, user=None)
    run(str(job.id), "here@elsewhere", auditing.audit, auditing.tidy)
    job.refresh_from_db()
    return job


def pictures(body: dict[str, Any]) -> list[np.ndarray[Any, Any]]:
    parts = [part for part in body["messages"][1]["content"] if part["type"] == "image_url"]
    data = [base64.b64decode(part["image_url"]["url"].partition(",")[2]) for part in parts]
    return [np.asarray(cv2.imdecode(np.frombuffer(one, np.uint8), cv2.IMREAD_COLOR), float) for one in data]


def test_the_evidence_is_hidden_and_asked_for_again_and_only_the_finished_audit_tells(
    video: Video, served: Callable[[Any], Server]
) -> None:
    served([says({"answer": "A"}), Answer(pause_s=3.0)])
    audit = make(video, NOT, RESTS)
    job = do(audit)
    assert (job.state, job.result["reason"]) == ("failed", "endpoint")  # it timed out after the first of three answers
    claim = Claim.objects.get(response__position=2, load_bearing=True, groundable=True)
    assert MachineVerdict.objects.get(claim=claim).name == "supported"  # what the machine found is kept all the same
    first, second = Response.objects.order_by("position")
    assert first.state == second.state == "done"
    assert set(first.provenance["deletion"]) == {"skipped"} and "deletion" not in second.provenance
    with pytest.raises(Refused, match="1 response is not asked again"):
        services.finish(audit=audit, user=User.objects.create(username="cora"), version=audit.version)

    server = served([says({"answer": "A"}), says({"answer": "B"}), says({"answer": "A"})])
    job = do(audit)
    assert job.state == "done" and len(server.asked) == 3
    assert job.result["asked_again"] == 1 and "spent" not in job.result  # that would tell that something is supported
    plain, hidden, control = (pictures(body) for body in server.asked)
    assert len(plain) == len(hidden) == len(control) > 0
    for k in range(len(plain)):  # the left half, where the mask is, is one colour; the right half is as it was
        assert hidden[k][:, :156].std(axis=(0, 1)).max() < 2 < plain[k][:, :156].std(axis=(0, 1)).max()
        assert np.abs(hidden[k][:, 168:] - plain[k][:, 168:]).mean() < 3
        assert control[k][:, 168:].std(axis=(0, 1)).max() < plain[k][:, 168:].std(axis=(0, 1)).max()
    again = served([])
    assert do(audit).result["asked_again"] == 0 and again.asked == []  # nothing is left to ask

    user = User.objects.get()
    role: Role = "curator"
    second.refresh_from_db()
    assert "deletion" not in json.dumps(queries.task(second, user, role)) and "deletion" not in job.log
    audit = services.finish(audit=audit, user=user, version=audit.version, force=True)
    report = Job.objects.get(kind="audit-report")
    run(str(report.id), "here@elsewhere", audit_reporting.work, audit_reporting.tidy)
    second.audit.refresh_from_db()
    record = queries.task(second, user, role)["deletion"]
    assert record["answers"] == {"plain": "A", "hidden": "B", "control": "A"}
    assert record["decides"]["claims"] == [claim.name] and record["spent"]["calls"] == 4
    tree, _ = reporting.report_of(Audit.objects.get(id=audit.id))
    assert tree is not None
    measures = tree["groups"][0]["measures"]
    assert (measures["deletion"]["k"], measures["deletion"]["n"]) == (1, 1)
    assert (measures["deletion_control"]["k"], measures["deletion_control"]["n"]) == (0, 1)
    told = tree["about"]["deletion_test"]
    assert told["models"] == ["m-1"] and (told["calls"], told["failed"]) == (4, 1)  # also what was asked in vain
    assert told["cost"] == pytest.approx(4 * (100 * 10 + 10 * 100) / 1e6)  # of 100 tokens sent and 10 received
    assert report_pictures.costs(tree) == [
        "Asking m-1 again with the evidence hidden: 4 answered requests, 1 without an answer, 400 tokens sent and 40 "
        "received, 0.008 by the configured prices."
    ]


def test_the_page_tells_the_price_of_what_is_done() -> None:
    assert (producing.ASKED_AGAIN, producing.MOST_PICTURES) == (deletion.REQUESTS, deletion.MOST_FRAMES)
    told = forms.deletion_costs(Config("http://here/v1", "m-1", price_in=2.5, price_out=10))
    assert "m-1 is asked 3 more times, each with up to 12 pictures, at 2.5 per million tokens sent and 10" in told


def test_without_an_endpoint_no_audit_is_made_and_without_the_wish_nobody_is_asked(
    video: Video, served: Callable[[Any], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SIGHTLINE_ENDPOINT_URL", raising=False)
    with pytest.raises(Refused, match="No multimodal endpoint") as refused:
        make(video, RESTS)
    assert refused.value.field == "deletion" and not Audit.objects.exists()
    server = served([])
    audit = make(video, RESTS, deletion=False)
    assert do(audit).state == "done" and server.asked == []
    assert make(video, RESTS).settings["deletion"] is True  # wished for later: the same audit, asked now
    do(audit)
    assert len(server.asked) == 1  # the script is over: it fails, but it was asked


SHOWN = [("tags", False), ("grasp", True)]


@pytest.mark.parametrize(
    ("rendering", "blur"),
    [*SHOWN, *(pytest.param(*one, marks=pytest.mark.long) for one in (("tags", True), ("clean", True)))],
)
def test_pictures_are_those_of_the_clip_with_its_tags_and_blurred_faces(
    video: Video, served: Callable[[Any], Server], tmp_path: Path, rendering: str, blur: bool
) -> None:
    """Held against the clip itself, cut as raters get it; a "grasp" clip bears a stamp besides, at the top."""
    Bench.objects.filter(project=bench_of(video.project).project).update(blur_faces=blur)
    lower_faces(video)
    server = served([says({"answer": "A"})] * 3)
    assert do(make(video, RESTS, rendering=rendering)).state == "done" and len(server.asked) == 3
    record = Response.objects.get().provenance["deletion"]
    assert record["decides"]["shown"] == "clip" and record["changed"] is False

    shown = pictures(server.asked[0])
    told = [part["text"] for part in server.asked[0]["messages"][1]["content"] if part["type"] == "text"]
    clip, clock = pictures_of_clip(video, tmp_path / "clip", rendering, blur)
    bare, _ = pictures_of_clip(video, tmp_path / "bare", "clean", False)
    below = slice(40, None)
    for k, frame in enumerate(record["decides"]["frames"]):
        position = int(np.searchsorted(clock.frame, frame, side="right")) - 1
        assert told[k] == f"{clock.clip_seconds(frame):.1f} s"
        if clock.frame[position] == frame:
            assert np.abs(shown[k] - clip[position])[below].mean() < 4
        off = np.abs(shown[k] - bare[frame])
        assert rendering == "clean" or off[below].max() > 60  # tags are drawn
        assert (off[FACE].mean() > 15) == blur and off[BESIDE].mean() < 5  # of 0 to 255


def lower_faces(video: Video) -> None:
    """Put the faces of the run where the picture has something to blur: at the stripes below."""
    assert video.run is not None
    path = storage.local_path(f"{video.run.folder}/samples.parquet")
    assert path is not None
    table = pq.read_table(path)
    for name, value in (("face_y1", 0.75), ("face_y2", 0.95)):
        at = table.schema.get_field_index(name)
        table = table.set_column(
            at, table.schema.field(at), pa.array(np.full(len(table), value), table.schema.types[at])
        )
    pq.write_table(table, path)


def pictures_of_clip(video: Video, out: Path, rendering: str, blur: bool) -> tuple[list[Any], ClipClock]:
    """The pictures of the clip [0, 100) as it is cut for raters, by position, and its clock."""
    assert video.blob is not None
    who = appearances(video, 0, 100)
    with storage.local(video.blob.original) as source, storage.local(f"{video.blob.folder}/frames.npz") as times:
        index = FrameIndex.load(times)
        people = tracks(video, {"seen_by": who.run, "tracklets": who.tracklets}, index)
        clips.cut(source, index, 0, 100, rendering, out, tracks=people, person_map=who.tags, blur=blur)
    own = clips.plan(index, 0, 100, rendering).index
    found = [np.asarray(one, float) for _, one in read_frames(out / "clip.mp4", own, np.arange(own.frames))]
    return found, ClipClock.load(out / "frames.npz")
