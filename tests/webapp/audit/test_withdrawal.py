"""A video is deleted or withdrawn: everything an audit had of it goes, history and files included."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from pghistory.models import Context

from tests.webapp.audit.made import draft, give_frames, process
from webapp.audit import masking, rating, services
from webapp.audit.models import Audit, Claim, HumanVerdict, MaskEdit, Response
from webapp.jobs.models import Job
from webapp.library import services as library
from webapp.library.models import Blob, Video

pytestmark = pytest.mark.django_db
HISTORIES = ("HumanVerdictEvent", "MaskEditEvent", "RepromptEvent", "AuditAdjudicationEvent")


def test_nothing_is_left_of_a_withdrawn_video(
    people: SimpleNamespace, video: Any, django_capture_on_commit_callbacks: Any
) -> None:
    other_blob = Blob.objects.create(sha256="cd" * 32, bytes=1, suffix=".mp4", ready=True)
    other = Video.objects.create(
        project=people.one, blob=other_blob, name="other.mp4", state="ready", frames=1000, width=1280, height=720
    )
    for one in (video, other):
        give_frames(one)
    made = services.create_audit(
        project=people.one, user=people.cora, source="file:1", drafts=[draft(video), draft(other)], raters=1
    )
    gone, kept = made.audit.responses.order_by("position")
    for response in (gone, kept):
        process(response)
        rating.take(response=response, user=people.rita)
        for claim in Claim.objects.filter(response=response).select_related("response__audit"):
            words: dict[str, Any] = {"verdict": "supported", "reason": f"Seen in {response.position}."}
            rating.say(claim=claim, user=people.rita, id=uuid4(), version=None, **words)
            wanted = masking.Wanted(uuid4(), "phrase-1", 1, 125, "delete")
            masking.edit(claim=claim, user=people.rita, id=uuid4(), kind="delete", edits=[wanted])
    Audit.objects.update(state="finished", report={"v": 1})
    default_storage.save(f"{made.audit.folder}/report.json", ContentFile(b"{}"))
    before = {name: apps.get_model("audit", name).objects.count() for name in HISTORIES}
    with django_capture_on_commit_callbacks(execute=True):
        library.delete_video(video=video)
    assert list(Response.objects.all()) == [kept]
    assert HumanVerdict.objects.count() == MaskEdit.objects.count() == 3
    for name in HISTORIES:
        rows = apps.get_model("audit", name).objects.all()
        assert rows.count() == before[name] / 2 and not rows.filter(video_id=video.id).exists()
    reasons = Context.objects.filter(metadata__has_key="reason").values_list("metadata__reason", flat=True)
    assert list(reasons) == ["Seen in 2."] * 3
    assert not default_storage.exists(f"{gone.folder}/c1.json") and default_storage.exists(f"{kept.folder}/c1.json")
    assert not default_storage.exists(f"{made.audit.folder}/report.json")  # it counted the video
    audit = Audit.objects.get()
    assert audit.report == {} and "withdrawn or deleted" in audit.notes[0]
    assert Job.objects.filter(kind="audit-report", state="queued").count() == 1  # made again, without it
