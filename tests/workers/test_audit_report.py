"""The whole way of an audit: machine, two raters, a third person, another wording, the report in three forms."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ml.evidence.grounding import registry
from ml.evidence.grounding.registry import About
from ml.evidence.verdicts import UNTIMED
from tests.workers.scripted_grounder import make_audit, make_video
from webapp.accounts.models import Membership, User
from webapp.audit import agreeing, queries, rating, report_pictures, reporting, reprompting, services
from webapp.audit.models import Audit, Claim, Grounding, MachineVerdict
from webapp.audit.shown import has_mask
from webapp.jobs.models import Job
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Project, Video
from workers.attempt import run
from workers.tasks import audit_reporting, auditing

TEXTS = ("Person 2 looks sad. A dog lies on the floor.", "A cat sleeps. Person 1 feels sad.")


@pytest.fixture
def video(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Video:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    scripted = About("tests.workers.scripted_grounder", "Scripted", "Scripted.")
    monkeypatch.setitem(registry.GROUNDERS, "embedded", scripted)
    return make_video(project, tmp_path / "run")


def raters(project: Project) -> list[User]:
    found = []
    for name in ("rita", "ron", "thea"):
        found.append(User.objects.create(username=name, display_name=name.title()))
        Membership.objects.create(project=project, user=found[-1], role="reviewer")
    return found


def do(job: Job, work: Any, tidy: Any) -> Job:
    run(str(job.id), "here@elsewhere", work, tidy)
    job.refresh_from_db()
    assert (job.state, job.error) == ("done", ""), job.log
    return job


def test_from_responses_to_a_report_that_opens_anywhere(video: Video) -> None:
    audit = make_audit(video, TEXTS)
    Audit.objects.update(notes=["Nobody said this, <it> is made up.", "Twice."])
    do(services.request_audit(audit=audit, user=None), auditing.audit, auditing.tidy)
    rita, ron, thea = raters(video.project)
    words = {rita: "contradicted", ron: "supported"}
    with pytest.raises(Refused, match="once the audit is finished"):
        reporting.report_of(audit)
    for user, other in words.items():
        while (seat := rating.next_response(audit=audit, user=user)) is not None:
            for claim in Claim.objects.filter(response=seat.response).select_related("response__audit"):
                differs = claim.name == "c1" and claim.response.position == 2
                verdict = other if differs else "contradicted"
                rating.say(
                    claim=claim, user=user, id=uuid4(), version=None, verdict=verdict,
                    relevance="relevant" if has_mask(claim, user) else "", reason="As I see it.",
                )  # fmt: skip
            rating.complete(response=seat.response, user=user)
    disputed = rating.disputed(audit)
    assert len(disputed) == 1
    claim = Claim.objects.select_related("response__audit").get(id=disputed[0])
    rating.adjudicate(claim=claim, user=thea, id=uuid4(), verdict="contradicted", reason="Nothing sleeps there.")
    finished = services.finish(audit=audit, user=thea, version=1)
    do(Job.objects.get(kind="audit-report"), audit_reporting.work, audit_reporting.tidy)
    audit = Audit.objects.select_related("project").get(id=audit.id)
    tree, _ = reporting.report_of(audit)
    assert tree is not None and {group["model"] for group in tree["groups"]} == {"m-0", "m-1"}
    listed = {row["text"]: row["people"] for row in tree["claims"]}
    assert listed["A cat sleeps"] == "contradicted"  # the third person's word
    page = storage.local_path(reporting.file_of(audit, "html"))
    assert page is not None
    html = page.read_text()
    assert "A cat sleeps" in html and "<script" not in html and "http://" not in html.replace("http://www.w3.org", "")
    assert "<p class='note'>Nobody said this, &lt;it&gt; is made up.</p><p class='note'>Twice.</p>" in html
    assert "[&#x27;" not in html and "{&#x27;" not in html  # words, nothing as a program prints it
    assert "Rita" not in html and "rita" not in html  # raters are numbers outside of the house
    table = storage.local_path(reporting.file_of(audit, "csv"))
    assert table is not None
    lines = list(csv.DictReader(StringIO(table.read_text())))
    assert len(lines) > 5 and [line["says"] for line in lines if line["measure"] == "note"] == audit.notes
    rows = {row["what"]: row for row in audit.report["agreement"]}
    assert set(rows) == {"verdict", "relevance"}
    assert rows["verdict"]["units"] == 4 and rows["verdict"]["raw"]["value"] is None  # too few to say
    shown = report_pictures.agreement(agreeing.told([rows["verdict"] | {"raw": {"value": 0.75}}]))  # as once stored
    assert (shown[0]["few"], shown[0]["estimates"][0]["value"]) == ("4 claims only: too few to say", "–")
    assert finished.state == "finished" and tree["about"]["audit"] == audit.number


def test_another_wording_stands_beside_the_first(video: Video) -> None:
    audit = make_audit(video, TEXTS[:1], raters=1)
    do(services.request_audit(audit=audit, user=None), auditing.audit, auditing.tidy)
    rita = raters(video.project)[0]
    seat = rating.next_response(audit=audit, user=rita)
    assert seat is not None
    claim = Claim.objects.select_related("response__audit__project", "response__video").get(name="c2")
    with pytest.raises(Refused, match="1 to 6 words"):
        reprompting.request_reprompt(claim=claim, user=rita, id=uuid4(), text="one two three four five six seven")
    made, job = reprompting.request_reprompt(claim=claim, user=rita, id=uuid4(), text="person on the floor")
    assert job is not None
    again, same = reprompting.request_reprompt(claim=claim, user=rita, id=made.id, text="person on the floor")
    assert again.id == made.id and same is not None and same.id == job.id
    do(job, auditing.reprompt, auditing.tidy)
    first = MachineVerdict.objects.get(claim=claim, reprompt=None)
    other = MachineVerdict.objects.get(claim=claim, reprompt=made)
    assert first.name == "unsupported" and other.name != "unsupported"  # the dog was not found, a person is
    found = Grounding.objects.get(reprompt=made)
    assert found.queries[0]["role"] == "reprompt" and found.queries[0]["text"] == "person on the floor"
    assert found.queries[0]["id"].endswith(f"@{made.id.hex[:8]}") and found.queries[0]["frames"]
    task = queries.task(claim.response, rita, "reviewer")
    shown = task["claims"][1]["reprompts"][0]
    assert shown["state"] == "done" and "machine" not in shown  # not before her own word on the claim
    path = storage.local_path(f"{claim.response.folder}/{found.columns}")
    assert path is not None and set(json.loads(path.read_text())["query"]) <= {q["id"] for q in found.queries}


def test_a_wording_is_looked_for_beside_nothing_else_and_where_the_claim_has_no_phrase(video: Video) -> None:
    """Persons that the verdict needs are no other wording; a claim that no phrase was read of can have one typed."""
    audit = make_audit(video, ("Person 1 is visible at 1.0 s. 画面中没有狗。",), raters=1)
    do(services.request_audit(audit=audit, user=None), auditing.audit, auditing.tidy)
    rita = raters(video.project)[0]
    seat = rating.next_response(audit=audit, user=rita)
    assert seat is not None
    for name, told in (("c1", "attribute_unchecked"), ("c2", "not_attribute_unchecked")):
        claim = Claim.objects.select_related("response__audit__project", "response__video").get(name=name)
        made, job = reprompting.request_reprompt(claim=claim, user=rita, id=uuid4(), text="person in green hat")
        assert job is not None
        do(job, auditing.reprompt, auditing.tidy)
        found = Grounding.objects.get(reprompt=made)
        assert [(q["role"], q["text"]) for q in found.queries] == [("reprompt", "person in green hat")]
        assert (found.queries[0]["looked_for"], found.queries[0]["unchecked"]) == ("person", ["green hat"])
        path = storage.local_path(f"{claim.response.folder}/{found.columns}")
        assert path is not None and set(json.loads(path.read_text())["query"]) == {found.queries[0]["id"]}
        verdict = MachineVerdict.objects.get(claim=claim, reprompt=made)
        assert verdict.rule == told and "looked for: person; not checked: green hat" in verdict.sentence
        assert (UNTIMED in verdict.sentence) == (name == "c2")
