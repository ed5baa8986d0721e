"""Files of models' responses become an audit: each is placed in a video of the project, with its clip and its tags.

A video is named by id, sha256, name, or name without folder and ending. Clip seconds count from the first frame
presented, as exports have them. Everything is checked first and written in one transaction: a file with one fault
leaves nothing behind, and the same file again is the same audit. Up to `AT_ONCE` responses are placed while somebody
waits, more of them by a job (`webapp.audit.importing`).
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from django.core.files.uploadedfile import UploadedFile
from django.utils.text import get_valid_filename
from numpy.typing import NDArray

from ml.evidence import reading
from ml.evidence.correctness import is_correct, key_of
from ml.formats import responses as format
from ml.formats.errors import FormatError
from ml.questions.clip import RENDERINGS, frames_of
from webapp.accounts.models import User
from webapp.audit import importing, services
from webapp.audit.services import Draft, Made
from webapp.audit.tags import NUMBER, tag_of
from webapp.bench.models import Clip
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.frames import frame_seconds
from webapp.library.models import Project, Video
from webapp.tracks.models import Person
from webapp.tracks.queries import roots_of

SUFFIXES = (".jsonl", ".ndjson", ".json")
LARGEST_UPLOAD = 256 << 20  # bytes that a page takes
AT_ONCE = 1000


def copy_name(name: str) -> str:
    """The name for a copy of an uploaded file, so that complaints name it as its owner knows it; one whose ending says
    nothing is read as JSON lines."""
    plain = get_valid_filename(PurePosixPath(name.replace("\\", "/")).name[-100:] or "responses")
    return plain if PurePosixPath(plain).suffix.lower() in SUFFIXES else f"{plain}.jsonl"


def import_upload(*, file: UploadedFile, project: Project, user: User, **wanted: Any) -> Made | Job:
    """Bring an uploaded file of responses in, as `bring_in` does. Raises FormatError and Refused."""
    if (file.size or 0) > LARGEST_UPLOAD:
        raise Refused(
            f"A page takes files of up to {LARGEST_UPLOAD >> 20} MB; a larger one is brought in by manage.py audit.",
            "file",
        )
    with tempfile.TemporaryDirectory(prefix="sightline-responses-") as folder:
        path = Path(folder) / copy_name(file.name or "")
        with path.open("wb") as copy:
            for piece in file.chunks():
                copy.write(piece)
        return bring_in(path=path, shown=file.name or "", project=project, user=user, **wanted)


def bring_in(
    *,
    path: Path,
    project: Project,
    user: User | None,
    shown: str = "",
    name: str = "",
    summariser: str = "rules",
    grounder: str = "embedded",
    raters: int = 2,
    deletion: bool = False,
) -> Made | Job:
    """The audit with a file's responses, or, where there are more than `AT_ONCE`, the job that brings them in. Raises
    FormatError and Refused, naming file and place."""
    told: dict[str, Any] = {
        "path": path, "project": project, "user": user, "shown": shown or path.name, "summariser": summariser,
        "grounder": grounder, "raters": raters, "deletion": deletion,
    }  # fmt: skip
    if next(islice(format.read(path), AT_ONCE, None), None) is None:
        return import_file(name=name, **told)
    return importing.request_import(source=source_of(path), name=name or name_of(told["shown"]), **told)


def source_of(path: Path) -> str:
    """What an audit of this file is known by."""
    return f"file:{sha256_of(path)}"


def name_of(shown: str) -> str:
    """The name of an audit to which nobody gave one."""
    return PurePosixPath(shown).stem[: services.MOST_NAME]


def import_file(
    *,
    path: Path,
    project: Project,
    user: User | None,
    shown: str = "",
    name: str = "",
    summariser: str = "rules",
    grounder: str = "embedded",
    raters: int = 2,
    deletion: bool = False,
) -> Made:
    """Bring the responses of a file in. Raises FormatError and Refused, naming file and place."""
    services.check_choices(summariser=summariser, grounder=grounder, raters=raters, deletion=deletion)
    services.need_set_up(summariser=summariser, grounder=grounder)
    told = shown or path.name
    drafts = drafts_of(format.read(path), project, told)
    if not drafts:
        raise FormatError(f"{told} holds no responses.")
    return services.create_audit(
        project=project,
        user=user,
        source=source_of(path),
        drafts=drafts,
        name=name or name_of(told),
        summariser=summariser,
        grounder=grounder,
        raters=raters,
        deletion=deletion,
    )


def sha256_of(path: Path) -> str:
    """Of a file, or of the files of a folder with their names."""
    digest = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
        digest.update(f"{file.relative_to(path)}\n".encode() if path.is_dir() else b"")
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def drafts_of(found: Iterable[Any], project: Project, shown: str) -> list[Draft]:
    """The responses placed in the project's videos. Raises FormatError with the first fault and how many there are."""
    drafts, faults = placed(found, Homes(project), shown)
    if faults:
        raise refusal(faults)
    return drafts


def placed(found: Iterable[Any], homes: Homes, shown: str, *, first: int = 1) -> tuple[list[Draft], list[str]]:
    """The responses placed in videos, and a sentence for each that cannot be. `first`: position of the first one.
    Raises FormatError where there are too many."""
    drafts, faults = [], []
    for position, response in enumerate(found, first):
        need_few(position, shown)
        place = response.place or f"{shown}, response {position}"
        try:
            drafts.append(draft_of(response, homes, shown, place))
        except (FormatError, Refused) as error:
            faults.append(f"{place}: {getattr(error, 'sentence', error)}")
    return drafts, faults


def need_few(count: int, shown: str) -> None:
    """Raises FormatError for more responses than an audit takes."""
    if count > services.MOST_RESPONSES:
        raise FormatError(f"{shown}: more than {services.MOST_RESPONSES:,} responses; import the file in parts.")


def refusal(faults: list[str]) -> FormatError:
    more = f" And {len(faults) - 1} more responses have faults." if len(faults) > 1 else ""
    return FormatError(f"{faults[0]}{more} Nothing was imported.")


def draft_of(response: Any, homes: Homes, shown: str, place: str) -> Draft:
    """One response in its video. Raises FormatError with a sentence."""
    if response.rendering not in RENDERINGS:
        raise FormatError(f"there is no rendering {response.rendering!r}; there is: {', '.join(RENDERINGS)}.")
    if len(response.text) > services.MOST_TEXT:
        raise FormatError(f"the text has more than {services.MOST_TEXT:,} characters.")
    home = homes.of(response.video)
    start, end = home.span(response.clip_start, response.clip_end)
    people = home.people(response.person_map, tagged=response.rendering != "clean")
    clip = home.clip(start, end, response.rendering, people)
    parsed = reading.parsed(response.text)
    answer, letters = response.answer or parsed.answer, list(parsed.letters)
    if not letters and response.answer:
        letters = list(reading.parsed(f"<answer>{response.answer}</answer>").letters)
    key = key_of(response.key) if response.key is not None else None
    known = {
        "video": str(home.video.id),
        "clip": [response.clip_start, response.clip_end],
        "rendering": response.rendering,
        "map": {str(tag): str(value) for tag, value in dict(response.person_map).items()},
        "question": response.question,
        "options": list(response.options),
        "model": response.model,
        "text": response.text,
        "id": response.id,
    }
    return Draft(
        video=home.video,
        start=start,
        end=end,
        rendering=response.rendering,
        model=response.model,
        text=response.text,
        digest=hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest(),
        person_map=people,
        asked=response.question,
        options=list(response.options),
        answer=answer,
        letters=letters,
        key=key,
        correct=is_correct(key, answer=answer, letters=letters, options=response.options),
        repairs=list(parsed.repairs),
        provenance={"file": shown, "place": place, "id": response.id},
        clip=clip.id if clip else None,
    )


# ---------------------------------------------------------------------------------------------------------------------
# Which video


def plain(name: str) -> str:
    """A video's name without folder, ending, case and blanks around."""
    return PurePosixPath(name.replace("\\", "/")).stem.strip().casefold()


class Homes:
    """The project's videos by what a file may call them, opened when a response asks for one."""

    def __init__(self, project: Project) -> None:
        self.by_word: dict[str, list[Video]] = defaultdict(list)
        self.opened: dict[Any, Home] = {}
        videos = Video.objects.filter(project=project, state=Video.State.READY).select_related("blob", "run")
        for video in videos:
            for word in {str(video.id), video.blob_id or "", video.name, plain(video.name)} - {""}:
                self.by_word[word].append(video)

    def of(self, word: str) -> Home:
        """Raises FormatError for a video that is unknown, or one of several."""
        found = self.by_word.get(word) or self.by_word.get(plain(word)) or []
        if not found:
            raise FormatError(f"there is no video {word!r} in this project (or its import is not done).")
        if len(found) > 1:
            raise FormatError(f"{len(found)} videos of this project are called {word!r}; use the id.")
        video = found[0]
        if video.id not in self.opened:
            if not video.has_pixels:
                raise FormatError(f"the video {word!r} has no pictures here, so nothing can be looked for in it.")
            self.opened[video.id] = Home(video)
        return self.opened[video.id]


@dataclass
class Home:
    """A video with what is needed to place a response in it."""

    video: Video
    seconds: NDArray[np.float64] = field(init=False)
    roots: Mapping[str, str] = field(init=False)
    ids: Mapping[int, str] = field(init=False)
    clips: list[Clip] = field(init=False)

    def __post_init__(self) -> None:
        seconds = frame_seconds(self.video)
        self.seconds = seconds - seconds[0]
        self.roots = roots_of(self.video)  # number and id of somebody merged stay theirs
        rows = Person.objects.filter(video=self.video).values_list("number", "id")
        self.ids = {number: self.roots[str(id)] for number, id in rows}
        self.clips = list(Clip.objects.filter(video=self.video, ready=True).order_by("created"))

    def span(self, start_s: float | None, end_s: float | None) -> tuple[int, int]:
        """Source frames of a clip; None: from the first frame, to the last. Raises FormatError."""
        try:
            return frames_of(self.seconds, start_s, end_s)
        except ValueError as error:
            raise FormatError(f"{error} ({self.video.name}).") from error

    def people(self, person_map: Mapping[str, Any], *, tagged: bool) -> dict[str, str]:
        """Tag's number -> person id. Without a map, drawn tags are the persons' numbers. Raises FormatError."""
        if not person_map:
            return {str(number): id for number, id in self.ids.items()} if tagged else {}
        return {tag_of(tag): self._person(tag, value) for tag, value in person_map.items()}

    def _person(self, tag: Any, value: Any) -> str:
        if isinstance(value, str) and value in self.roots:
            return self.roots[value]
        numbers = NUMBER.findall(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else []
        if len(numbers) == 1 and int(numbers[0]) in self.ids:
            return self.ids[int(numbers[0])]
        raise FormatError(f"the tag {tag!r} stands for {value!r}, whom the video {self.video.name!r} does not know.")

    def clip(self, start: int, end: int, rendering: str, people: Mapping[str, str]) -> Clip | None:
        """A clip of the bench that shows just this, with these tags."""
        for clip in self.clips:
            tags = {tag_of(tag): person for tag, person in clip.person_map.items()}
            same = (clip.start, clip.end, clip.rendering) == (start, end, rendering)
            if same and (rendering == "clean" or all(tags.get(tag) == id for tag, id in people.items() if tag in tags)):
                return clip
        return None
