"""The folder of a run without a studio becomes an audit: claims, masks and verdicts as they are, tracks as persons."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml.evidence.grounding.protocol import Query, Window
from ml.evidence.package import to_json
from ml.evidence.summarisers import registry
from ml.evidence.vocabulary import EMBEDDED
from ml.formats.errors import FormatError
from ml.media import masks as masks_file
from tests.workers.scripted_grounder import make_video, masks_of
from webapp.audit import services
from webapp.audit.models import Audit, Claim, Grounding, MachineVerdict, Response
from webapp.exchange import evidence_folder
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Project, Video
from workers.attempt import run
from workers.tasks import auditing

TEXT = "Person 2 looks sad. A dog lies on the floor."


@pytest.fixture
def video(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Video:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    return make_video(project, tmp_path / "run")


def folder_of(video: Video, path: Path, **plan: Any) -> Path:
    """What `python -m ml.evidence.run` writes of one response with two claims; its persons are tracks."""
    assert video.run is not None
    samples = storage.local_path(f"{video.run.folder}/samples.parquet")
    assert samples is not None
    about = {"sha256": video.blob_id, "run": hashlib.sha256(samples.read_bytes()).hexdigest()} | plan
    package = registry.load("rules").summarise(TEXT, duration_s=8.0, vocabulary=EMBEDDED)
    frames = np.arange(0, 100, 10)
    window = Window(frames, np.ones(10, bool), (0, 200))
    masks = masks_of([Query("c2/phrase-1", "dog")], window)
    masks = replace(masks, person=np.full(len(masks.frame), 2, np.int64))
    (path / "groundings").mkdir(parents=True)
    masks_file.write(path / "groundings" / "r00001.parquet", masks, {})
    grounded = {"status": {"phrase-1": "ok"}, "sentence": {}, "looked": frames.tolist(), "attributes_checked": {}}
    verdicts = [
        {
            "response": "mine", "claim": claim.id, "verdict": "weak" if claim.id == "c2" else "not_groundable",
            "rule": "r", "sentence": "S.", "numbers": {"span": [0, 200]},
            "queries": [{"id": "phrase-1", "text": "dog", "role": "phrase", "person": None}] * (claim.id == "c2"),
            "window": {"frame": frames.tolist(), "inside": [True] * 10, "span": [0, 200]} if claim.id == "c2" else None,
            "grounded": (grounded | {"notes": []}) if claim.id == "c2" else None,
        }
        for claim in package.claims
    ]  # fmt: skip
    response = {
        "id": "mine", "name": "r00001", "video": "row.mp4", "clip_start": 0.0, "clip_end": 8.0, "clip_frames": [0, 200],
        "rendering": "tags", "person_map": {}, "question": "Who?", "options": [], "answer": "", "model": "m",
        "key": None, "text": TEXT, "correct": None, "extra": {},
    }  # fmt: skip
    names = {"summariser": {"name": "rules", "version": "1"}, "grounder": {"name": "embedded", "version": "1"}}
    (path / "run.json").write_text(json.dumps({"v": 1, "plan": {"video": about, **names}, "counts": {}}))
    for name, rows in (
        ("responses", [response]), ("packages", [{"response": "mine", "package": to_json(package)}]),
        ("verdicts", verdicts),
    ):  # fmt: skip
        (path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_what_was_found_elsewhere_is_there_once_and_needs_no_work(video: Video, tmp_path: Path) -> None:
    folder = folder_of(video, tmp_path / "out")
    for _ in range(2):
        made = evidence_folder.import_folder(folder=folder, project=video.project)
    assert (made.made, made.known) == (0, 1)
    response = Response.objects.get()
    assert response.state == "done" and set(response.person_map) == {"0", "1", "2", "3"}
    assert list(MachineVerdict.objects.order_by("claim__position").values_list("name", flat=True)) == [
        "not_groundable", "weak",
    ]  # fmt: skip
    found = Grounding.objects.get()
    assert found.claim.name == "c2" and found.queries[0]["frames"] == list(range(0, 100, 10))
    stored = storage.local_path(f"{response.folder}/{found.columns}")
    assert stored is not None
    person = video.persons.get(id=response.person_map["2"])
    assert set(json.loads(stored.read_text())["person"]) == {person.number}  # track 2 is that person now
    job = services.request_audit(audit=made.audit, user=None)
    run(str(job.id), "here@elsewhere", auditing.audit, auditing.tidy)
    assert Job.objects.get(id=job.id).result["responses"] == 0


def test_a_folder_made_with_an_endpoint_comes_in_where_there_is_none(
    video: Video, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SIGHTLINE_ENDPOINT_URL", "SIGHTLINE_ENDPOINT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    folder = folder_of(video, tmp_path / "out")
    run_json = json.loads((folder / "run.json").read_text())
    run_json["plan"]["summariser"]["name"] = "endpoint"
    (folder / "run.json").write_text(json.dumps(run_json))
    made = evidence_folder.import_folder(folder=folder, project=video.project)
    assert made.audit.summariser == "endpoint" and Response.objects.get().state == "done"
    assert services.request_audit(audit=made.audit, user=None).state == "queued"  # nothing waits for the endpoint


def test_verdicts_name_persons_not_tracks(video: Video, tmp_path: Path) -> None:
    made_of = folder_of(video, tmp_path / "out")
    person = {t.track: t.person.number for t in video.run.tracklets.select_related("person")}  # type: ignore[union-attr]
    video.persons.filter(number=person[3]).update(number=30)  # so that track and person differ
    path = made_of / "verdicts.jsonl"
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    second |= {
        "verdict": "wrong_person", "rule": "on_another", "sentence": "“dog” was found on Person 3, not on Person 8.",
        "numbers": {"span": [0, 200], "queries": {"phrase-1": {"persons": [-1, 3], "any_in": 4}}},
    }  # fmt: skip
    path.write_text(json.dumps(first) + "\n" + json.dumps(second) + "\n")
    told = made_of / "responses.jsonl"
    told.write_text(json.dumps(json.loads(told.read_text()) | {"person_map": {"8": 2}}) + "\n")
    evidence_folder.import_folder(folder=made_of, project=video.project)
    verdict = MachineVerdict.objects.get(claim__name="c2")
    assert verdict.sentence == "“dog” was found on track 3 of the run, not on Person 8."  # 8 is a printed tag
    assert verdict.numbers["queries"] == {"phrase-1": {"persons": [-1, 30], "any_in": 4}}


def test_a_folder_that_does_not_fit_says_why_and_leaves_nothing(video: Video, tmp_path: Path) -> None:
    other = folder_of(video, tmp_path / "other", run="0" * 64)
    with pytest.raises(FormatError, match="another perception run"):
        evidence_folder.import_folder(folder=other, project=video.project)
    foreign = folder_of(video, tmp_path / "foreign", sha256="1" * 64)
    with pytest.raises(FormatError, match="is not in the project one"):
        evidence_folder.import_folder(folder=foreign, project=video.project)
    with pytest.raises(FormatError, match="has no run.json"):
        evidence_folder.import_folder(folder=tmp_path, project=video.project)
    with pytest.raises(FormatError, match="made with embedded, not with sam3"):
        evidence_folder.import_folder(
            folder=folder_of(video, tmp_path / "same"), project=video.project, grounder="sam3"
        )
    assert not Response.objects.exists() and not Claim.objects.exists()


BROKEN: dict[str, list[tuple[tuple[Any, ...], Any]]] = {
    "run.json": [((), []), (("plan",), None), (("plan", "video", "sha256"), "\0"), (("plan", "grounder", "name"), 1)],
    "responses.jsonl": [
        ((), 1), (("clip_frames",), [5]), (("clip_frames",), [0, 2**70]), (("person_map",), None), (("options",), "x"),
        (("model",), "m" * 201), (("key",), True), (("correct",), -1), (("question",), None), (("name",), "../r1"),
        (("person_map",), {"1": "9" * 5000}), (("rendering",), "x" * 9999),
    ],
    "packages.jsonl": [((), {}), (("response",), []), (("package",), []), (("package", "claims"), None)],
    "verdicts.jsonl": [
        ((), {}), (("response",), []), (("numbers",), None), (("numbers", "span"), "x"), (("verdict",), "good"),
        (("queries", 0, "id"), []), (("window", "frame", 0), []), (("window", "inside"), [True]),
        (("grounded", "looked", 0), 1e308), (("grounded", "looked", 0), 200), (("grounded", "status"), None),
        (("grounded", "notes"), None), (("grounded", "attributes_checked"), None), (("rule",), "r" * 61),
    ],
}  # fmt: skip


def test_whatever_is_in_the_files_is_one_sentence_and_no_half_response(
    project: Project, video: Video, tmp_path: Path
) -> None:
    """The last line of each file with one value in a wrong place, and files that are no text."""
    folder = folder_of(video, tmp_path / "out")

    def refused(what: Any) -> None:
        with pytest.raises((FormatError, Refused)) as told:
            evidence_folder.import_folder(folder=folder, project=project)
        assert len(str(told.value)) < 600, what
        assert not Claim.objects.exists(), what

    for name, faults in BROKEN.items():
        whole = (folder / name).read_bytes()
        for at, value in faults:
            *lines, last = whole.splitlines()
            tree = {"": json.loads(last)}
            place: Any = tree
            for step in ("", *at)[:-1]:
                place = place[step]
            place[("", *at)[-1]] = value
            (folder / name).write_bytes(b"\n".join([*lines, json.dumps(tree[""]).encode()]))
            refused((name, at))
        for data in (b"\xff\xfe\0", b"[" * 100_000, b"PK\x03\x04", b'{"a": "\0"}', whole[: len(whole) // 2], b""):
            (folder / name).write_bytes(data)
            refused((name, data[:9]))
        (folder / name).write_bytes(whole)
    (folder / "groundings" / "r00001.parquet").unlink()
    refused("masks")


def test_a_folder_with_a_fault_leaves_no_audit(video: Video, tmp_path: Path) -> None:
    folder = folder_of(video, tmp_path / "out")
    (folder / "groundings" / "r00001.parquet").unlink()
    with pytest.raises(FormatError, match="the masks of response 'mine' are missing"):
        evidence_folder.import_folder(folder=folder, project=video.project)
    assert not Audit.objects.exists() and not Response.objects.exists()
    good = folder_of(video, tmp_path / "good")
    evidence_folder.import_folder(folder=good, project=video.project)
    (good / "packages.jsonl").write_text('{"response": "other"}\n')  # the same run again, broken meanwhile
    evidence_folder.import_folder(folder=good, project=video.project)
    assert Response.objects.get().state == "done"
