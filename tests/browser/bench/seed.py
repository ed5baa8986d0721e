"""A bench for the browser: a video with real pictures whose people and confirmed events are set by hand, and questions.

Every frame of the clip bears its number, so a cut clip can be told from any other.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from ml.questions.draft import Draft
from tests import clips
from tests.browser.workspace import seed as workspace
from webapp.bench import services
from webapp.bench.models import Question
from webapp.events.models import Coverage, Event, Participation
from webapp.events.rows import set_of
from webapp.lib import storage
from webapp.library.models import Blob, Video

FRAMES, RATE = 300, Fraction(25)
EVENTS = (  # type, start, end, (place of the person, role)
    ("mutual_gaze", 30, 60, ((0, "member"), (1, "member"))),
    ("mutual_gaze", 110, 135, ((1, "member"), (2, "member"))),
    ("gaze_following", 160, 190, ((0, "leader"), (3, "follower"))),
    ("joint_attention", 205, 240, ((0, "member"), (1, "member"), (2, "member"))),
    ("sudden_gaze_shift", 255, 262, ((3, "member"),)),
    ("pointing", 150, 172, ((0, "initiator"), (2, "target"))),
)


@cache
def imported() -> tuple[Path, Path]:
    """The file and the folder of its import: made once, for it is the same for every test."""
    from ml.media.importer import prepare
    from ml.progress import silent

    home = Path(tempfile.mkdtemp(prefix="sightline-clip-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    path, folder = home / "dinner.mp4", home / "import"
    folder.mkdir()
    clips.write(path, clips.steady(FRAMES, RATE, size=(320, 180)))
    prepare(path, folder, silent)
    return path, folder


def make_video(project: Any, *, name: str = "dinner.mp4") -> Video:
    """12 s of pictures with four people, six confirmed events of theirs, and everything declared marked."""
    path, folder = imported()
    facts = json.loads((folder / "import.json").read_text())
    blob = Blob.objects.create(
        sha256=facts["sha256"], bytes=path.stat().st_size, suffix=".mp4", ready=True, facts=facts
    )
    storage.put_folder(folder, blob.folder)
    storage.put(path, blob.original)  # clips are cut from it
    copied = {key: facts[key] for key in ("width", "height", "frames", "duration_s", "has_audio")}
    video = Video.objects.create(project=project, blob=blob, name=name, state="ready", shots=[0], **copied)
    workspace.add_scene(video, workspace.Scene(people=4, seconds=workspace.uniform(FRAMES, RATE)))
    add_events(video, list(video.persons.order_by("number")))
    video.refresh_from_db()
    return video


def add_events(video: Video, people: list[Any]) -> None:
    working = set_of(video, "working")
    for type_, start, end, who in EVENTS:
        modality = "gesture" if type_ == "pointing" else "gaze"
        event = Event.objects.create(
            set=working, video=video, modality=modality, type=type_, start=start, end=end, status="confirmed",
            origin="human", details={"target_kind": "person"} if modality == "gesture" else {},
        )  # fmt: skip
        Participation.objects.bulk_create(
            Participation(event=event, person=people[place], role=role) for place, role in who
        )
    for modality in ("gaze", "gesture"):
        Coverage.objects.create(set=working, video=video, modality=modality, start=0, end=video.frames, persons=[])
    Video.objects.filter(id=video.id).update(person_count=len(people), reviewed_count=len(EVENTS))


def signed_question(
    video: Video, user: Any, *, text: str = "Who looks at {p:0} first?", opened: bool = True
) -> Question:
    """A question whose key is a curator's word: options are the people 1 to 4, the key is the second of them."""
    people = list(video.persons.order_by("number"))
    for place, person in enumerate(people):
        text = text.replace(f"{{p:{place}}}", f"{{p:{person.id}}}")
    options = [
        {"id": "abcd"[k], "text": f"{{p:{person.id}}}", "value": str(person.id)} for k, person in enumerate(people)
    ]
    draft = Draft(
        category="mutual_gaze", kind="single", text=text, options=options, key=["b"], proof=None,  # type: ignore[arg-type]
        reasoning="", start=30, end=60, difficulty="medium", template="",
    )  # fmt: skip
    (made,) = services.create_questions(video=video, drafts=[draft], user=user, origin=Question.Origin.HUMAN)
    services.sign_question(question_id=made.id, user=user, version=made.version)
    if opened:
        done = services.open_questions(project=video.project, user=user, ids=[made.id])
        assert done.opened == [made.id], done.refused
    made.refresh_from_db()
    return made
