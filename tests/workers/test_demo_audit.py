"""The demo's audit, made with a scripted grounder: all its parts are there, a second making changes nothing."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ml.evidence.grounding import registry
from ml.evidence.grounding.registry import About
from tests.workers.scripted_grounder import make_video
from webapp.accounts.models import LoginLink, User
from webapp.audit import rating
from webapp.audit.models import Audit, Claim, Grounding, HumanVerdict, MachineVerdict, MaskEdit, Rating, Response
from webapp.jobs.models import Job
from webapp.library.models import Project, Video
from webapp.studio import demo_audit
from webapp.tracks.models import Tracklet
from workers.attempt import run
from workers.tasks import auditing

COUNTED = (Audit, Response, Claim, MachineVerdict, HumanVerdict, Rating, MaskEdit, User, Job)


def test_the_demo_audit_shows_every_kind_of_claim_and_leaves_something_to_do(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = About("tests.workers.scripted_grounder", "Scripted", "Scripted.")
    monkeypatch.setitem(registry.GROUNDERS, "embedded", scripted)
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)

    def follow(job_id: Any, screen: Any, look_after: Any) -> None:
        run(str(job_id), "here@elsewhere", auditing.audit, auditing.tidy)
        assert Job.objects.get(id=job_id).state == "done"

    monkeypatch.setattr(demo_audit, "follow", follow)
    clip = make_video(project, tmp_path / "run")
    Tracklet.objects.filter(run=clip.run, person__number=0).update(end=200)  # the first shot only
    Tracklet.objects.filter(run=clip.run, person__number=3).update(start=200)  # the second shot only
    Video.objects.create(
        project=project, name=demo_audit.DRAWN, blob=None, state="ready", frames=clip.frames, has_pixels=False
    )
    drawn = demo_audit.REPLIES[1]
    replies = (demo_audit.REPLIES[0], demo_audit.REPLIES[2])
    assert drawn.about == "drawn"  # it needs pictures, and the drawn scene's own events: shown by `make demo`
    monkeypatch.setattr(demo_audit, "REPLIES", replies)
    for _ in range(2):
        demo_audit.make(project=project, clip=clip, screen=Console(file=StringIO()), look_after=lambda: None)
        counts = [model.objects.count() for model in COUNTED]
    assert demo_audit.is_there(project) and counts[:3] == [1, 2, 7]
    demo_audit.make(project=project, clip=clip, screen=Console(file=StringIO()), look_after=lambda: None)
    assert [model.objects.count() for model in COUNTED] == counts
    audit = Audit.objects.get()
    assert audit.state == "open" and len(rating.disputed(audit)) == 1  # the dispute is left for the user
    assert not Rating.objects.filter(response__position=2).exists()  # and so is the second reply
    apart = HumanVerdict.objects.filter(claim__in=rating.disputed(audit)).values_list("verdict", "reason")
    assert len({verdict for verdict, _ in apart}) == len({reason for _, reason in apart}) == 2
    assert MaskEdit.objects.get().origin == "brush" and Rating.objects.filter(completed=None).count() == 0
    assert all("no model" in model for model in Response.objects.values_list("model", flat=True))
    for user in User.objects.filter(username__in=demo_audit.AUDITORS):
        assert "simulated" in user.display_name and not user.is_active and not user.has_usable_password()
        assert not LoginLink.objects.filter(user=user).exists()
    names = MachineVerdict.objects.filter(claim__response__position=1).order_by("claim__position")
    assert names.values_list("name", flat=True)[2] == "unsupported"  # the giraffe
    giraffe = Claim.objects.get(response__position=1, name="c3")  # of Person 0 there are masks, of a giraffe none
    assert demo_audit.has_mask(giraffe)
    found = Grounding.objects.get(claim=giraffe)
    queries = [query for query in found.queries if "giraffe" in query["text"] or query["role"] == "negative"]
    assert queries
    Grounding.objects.filter(id=found.id).update(queries=queries)
    assert not demo_audit.has_mask(giraffe)
