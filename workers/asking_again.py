"""The deletion test of an audit: the evidence of each response is hidden, and the configured model asked again.

Done once the claims are, in the same job, for audits that were made with it. What is hidden, and how the answers are
compared, is `ml.evidence.deletion`; here are the pictures, shown as the response's clip shows them: with its tags, and
with faces blurred where the project blurs them. Each record is in the database before the next response, and each
answer in the job's folder before the next question. That a response can be tested at all tells that one of its claims
is supported, so results and logs count the responses looked at, and nothing else.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ml.endpoint import BrokenReply, Config
from ml.evidence.deletion import ByEndpoint, Show, ask_again
from ml.media.errors import MediaError
from webapp.audit import recording
from webapp.audit.models import Audit, Grounding, MachineVerdict, Package, Response
from webapp.audit.recording import Gone
from webapp.bench.services import bench_of
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Video
from workers.attempt import Attempt

if TYPE_CHECKING:
    from ml.evidence.pipeline import Checked
    from workers.looking import Seen

BROKEN = 3  # responses in a row without a usable reply, after which the model is not up to the task
NOTHING = "No claim that the answer rests on is supported by masks."
UNSEEN = "Faces are blurred in this project, and nobody was looked for in this video."


def ask_all(attempt: Attempt, audit: Audit) -> int:
    """Test every response that is done and was not tested; how many were looked at. Raises Refused, EndpointError."""
    from workers.looking import opened
    from workers.tasks.auditing import by_video

    ids = list(recording.untested(audit).values_list("id", flat=True))
    if not ids:
        return 0
    done, broken, failed = 0, 0, False
    asker = ByEndpoint(Config.from_environment(), stop=lambda: attempt.progress("ask again", done / len(ids)))
    for video_id, responses in by_video(ids):
        if not Video.objects.filter(id=video_id).exists():  # withdrawn meanwhile, with its responses
            continue
        with opened(video_id, attempt.folder / "people" / str(video_id)) as seen:
            for response_id in responses:
                asker.stop()
                try:
                    one(attempt, response_id, seen, asker)
                    broken = 0
                except Gone:
                    pass
                except (BrokenReply, MediaError):
                    failed, broken = True, broken + 1
                    if broken >= BROKEN:
                        raise
                done += 1
    if failed:
        raise Refused("Not every response could be asked again with its evidence hidden; start once more.", "deletion")
    return done


def one(attempt: Attempt, response_id: Any, seen: Seen, asker: ByEndpoint) -> None:
    """Test one response and keep the record. Raises Gone, EndpointError, MediaError."""
    from workers.looking import clock_of

    response = Response.objects.select_related("clip", "audit__project").filter(id=response_id).first()
    if response is None:
        raise Gone
    asker.paid = partial(recording.keep_spent, response_id=response.id)
    checked = checked_of(response)
    try:
        found = checked and ask_again(
            checked,
            question=response.asked,
            options=response.options,
            footage=seen.footage,
            clock=clock_of(response, seen.footage.index),
            asker=asker,
            show=shown_as(response, seen),
            work=attempt.folder / "again" / str(response.id),
        )
    except Unseen:
        return recording.keep_deletion(response_id=response.id, record={"skipped": UNSEEN})
    return recording.keep_deletion(response_id=response.id, record=found or {"skipped": NOTHING})


def checked_of(response: Response) -> list[Checked]:
    """The supported claims that the answer rests on, with the masks that were stored for them."""
    from ml.evidence import package as packages
    from ml.evidence.columns import stored
    from ml.evidence.grounding.protocol import Grounded, Query
    from ml.evidence.pipeline import Checked
    from ml.evidence.verdicts import Verdict

    package = Package.objects.filter(response=response).exclude(tree={}).first()
    if package is None:
        return []
    claims = {claim.id: claim for claim in packages.parse(package.tree).claims}
    own = {"claim__response": response, "claim__load_bearing": True, "reprompt": None}
    said = {verdict.claim_id: verdict for verdict in MachineVerdict.objects.filter(**own, name="supported")}
    found = []
    rows = Grounding.objects.filter(**own, claim__in=said).exclude(masks="").select_related("claim")
    for row in rows.order_by("claim__position"):
        with storage.local(f"{response.folder}/{row.masks}") as path:
            masks = stored(path)
        queries = [Query(one["id"], one["text"], one["role"], one["person"]) for one in row.queries]
        grounded = Grounded(masks, {one["id"]: one["status"] for one in row.queries})
        verdict = Verdict("supported", said[row.claim_id].rule, said[row.claim_id].sentence)
        found.append(Checked(claims[row.claim.name], queries, None, grounded, verdict))
    return found


class Unseen(Exception):
    """Faces are to be blurred, and nobody knows where they are."""


def shown_as(response: Response, seen: Seen) -> Show | None:
    """How the frames of a response's clip look; None: as they are in the video. Raises Unseen."""
    import numpy as np

    from ml.evidence.deletion import LONGEST
    from ml.media.blur import Blurring
    from ml.media.clips import Drawing, plan
    from ml.media.decode import read_frames
    from webapp.bench.clips import appearances
    from webapp.tracks.queries import roots_of
    from workers.tasks.clipping import tracks

    video, index = seen.video, seen.footage.index
    blur = response.clip.blur_faces if response.clip else bench_of(response.audit.project).blur_faces
    if video.run_id is None and blur:
        raise Unseen
    if video.run_id is None or (response.rendering == "clean" and not blur):
        return None
    who, roots = appearances(video, response.start, response.end), roots_of(video)
    people = tracks(video, {"seen_by": who.run, "tracklets": who.tracklets}, index)
    printed = response.person_map if response.rendering != "clean" else {}
    labels = {roots.get(person, person): f"P{tag}" for tag, person in printed.items()}
    what = plan(index, response.start, response.end, response.rendering)

    def show(frames: Any) -> list[Any]:
        drawing = Drawing(what, people, labels, False, Blurring() if blur else None)
        found = read_frames(seen.footage.video, index, np.asarray(frames), longest=LONGEST)
        return [drawing.prepare(number, picture.copy()) for number, picture in found]

    return show
