"""What goes with a video that is withdrawn or deleted: its responses, packages, masks, verdicts and their history, and
every report that counted or quoted them.

Rows go by cascade and history by `webapp.lib.history`; here are the files, and the reports, which are made again
without the video for audits that have other responses. A machine is stopped by the rows it looks up, and what it stores
meanwhile its own tidying removes.
"""

from __future__ import annotations

from webapp.audit.models import Audit, Response
from webapp.audit.reporting import request_report
from webapp.library.models import Video

NOTE = "Responses to a video that was withdrawn or deleted are gone from this audit."


def scrub(video: Video) -> list[str]:
    """The storage folders that go with a video that is about to be erased; its row is locked."""
    responses = list(Response.objects.filter(video=video))
    folders = [response.folder for response in responses]
    audits = Audit.objects.select_for_update().filter(id__in={response.audit_id for response in responses})
    for audit in audits.order_by("id"):
        if NOTE not in audit.notes:
            audit.notes = [*audit.notes, NOTE]
        if audit.report:
            folders.append(audit.folder)
            audit.report = {}
            if audit.responses.exclude(video=video).exists():
                request_report(audit=audit, user=None)
        audit.version += 1
        audit.save()
    return folders
