"""GRASP benchmark items become questions: drafts of origin "imported", free-form until somebody proves or signs them.

The video of an item is the project's one whose name is that of its clip file (then the clip's clock is the video's), or
of its recording. Persons and times of the text become slots, since the clip is cut anew and has a clock of its own;
where the video knows nobody yet, person mentions stay text. Everything is checked first, and written in one
transaction: a file with one fault leaves nothing behind.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from ml.formats import grasp_codes
from ml.formats.errors import FormatError
from ml.formats.grasp_items import Item, parse_item
from ml.formats.jsonstream import entries
from ml.questions import slots
from ml.questions.draft import Draft
from ml.questions.taxonomy import SCHEMES, Scheme
from ml.text import answers, persons, times
from webapp.accounts.models import User
from webapp.bench import checks, services
from webapp.bench.models import Question
from webapp.lib.errors import Refused
from webapp.library.frames import frame_seconds
from webapp.library.models import Project, Video
from webapp.tracks.models import Person

MOST_ITEMS = 100_000
SLACK = 0.5  # seconds by which a time may lie beyond the video
# A question prints a moment to the tenth, which is off by half of one; the frame found for that is off by no more again
PRINTED = 0.1 + 1e-5


@dataclass
class Imported:
    """What came of a file: questions made; positions of items that are questions here already (`here`), and of those
    that no quota has room for (`left_out`).
    """

    items: int = 0
    questions: list[Question] = field(default_factory=list)
    here: list[int] = field(default_factory=list)
    left_out: list[int] = field(default_factory=list)


@dataclass
class Home:
    """A video with what is needed to place an item in it."""

    video: Video
    seconds: NDArray[np.float64]
    ids: Mapping[int, str]  # person number -> id; empty: nobody is known

    def frame(self, second: float) -> int:
        """The source frame nearest to a second after the first frame. Raises FormatError outside the video."""
        start = float(self.seconds[0])
        length = float(self.seconds[-1]) - start
        if not -SLACK <= second <= length + SLACK:
            raise FormatError(f"the time {second:g} s lies outside the video {self.video.name!r} ({length:g} s).")
        after = int(np.searchsorted(self.seconds[:-1], start + second))
        near = [at for at in (after - 1, after) if 0 <= at < len(self.seconds) - 1]
        return min(near, key=lambda at: abs(float(self.seconds[at]) - start - second))


def import_file(*, path: Path, project: Project, user: User | None, scheme: Scheme | None = None) -> Imported:
    """Bring the items of a file or folder in. Raises FormatError and Refused naming file and place."""
    items = list(_items(path))
    for named in (None, *SCHEMES):  # the file's own word counts where it has one
        codes = [item.category for _, _, item in items if item.category and item.scheme == named]
        grasp_codes.slugs_of(codes, named or scheme)
    homes = _Homes(project)
    drafts: dict[Any, list[tuple[int, Draft, dict[str, Any]]]] = defaultdict(list)
    faults: list[str] = []
    for position, place, item in items:
        try:
            home, offset = homes.of(item)
            drafts[home.video].append(
                (position, draft_of(item, home, offset, scheme), _provenance(path, position, item))
            )
        except (FormatError, Refused) as error:
            faults.append(f"{place}: {getattr(error, 'sentence', error)}")
    if faults:
        more = f" And {len(faults) - 1} more items have faults." if len(faults) > 1 else ""
        raise FormatError(f"{faults[0]}{more} Nothing was imported.")
    return _write(drafts, user, len(items))


def _items(path: Path) -> Iterator[tuple[int, str, Item]]:
    for entry in entries(path):
        if entry.position >= MOST_ITEMS:
            raise FormatError(f"{entry.place}: more than {MOST_ITEMS:,} items; import the file in parts.")
        try:
            yield entry.position, entry.place, parse_item(entry.tree)
        except FormatError as error:
            raise FormatError(f"{entry.place}: {error}") from error


def _write(drafts: Mapping[Video, list[tuple[int, Draft, dict[str, Any]]]], user: User | None, items: int) -> Imported:
    result = Imported(items)
    with transaction.atomic():
        for video, rows in drafts.items():
            fresh = services.fresh(video, [draft for _, draft, _ in rows], within=PRINTED)
            made = services.create_questions(video=video, drafts=fresh, user=user, origin=Question.Origin.IMPORTED)
            told = {draft.text: (position, facts) for position, draft, facts in reversed(rows)}
            asked = {id(draft) for draft in fresh}
            result.here += [position for position, draft, _ in rows if id(draft) not in asked]
            for question in made:
                question.provenance = told[question.text][1]
            Question.objects.bulk_update(made, ["provenance"], batch_size=500)
            kept = {told[question.text][0] for question in made}
            result.questions += made
            result.left_out += [position for position, draft, _ in rows if id(draft) in asked and position not in kept]
    result.here.sort()
    result.left_out.sort()
    return result


def _provenance(path: Path, position: int, item: Item) -> dict[str, Any]:
    """Where the question comes from, and what has no place of its own in it."""
    told = {
        "file": path.name,
        "item": position,
        "code": item.category,
        "difficulty": item.difficulty,
        "answer_text": item.answer_text,
        "source_event_ids": item.source_event_ids,
        "clip_file": item.clip_file,
        "video_name": item.video_name,
        "dataset": item.dataset,
        "text_sha256": hashlib.sha256(item.question.encode()).hexdigest(),
    }
    return {name: value for name, value in told.items() if value is not None}


# ---------------------------------------------------------------------------------------------------------------------
# Which video


class _Homes:
    """The project's videos by name, opened when an item asks for one."""

    def __init__(self, project: Project) -> None:
        from ml.questions.lint.recordings import stem

        self.stem = stem
        self.by_name: dict[str, list[Video]] = defaultdict(list)
        self.by_media: dict[str, Video] = {}
        for video in Video.objects.filter(project=project).select_related("blob", "run", "project"):
            for name in {_plain(video.name), stem(video.name)}:
                self.by_name[name].append(video)
            if video.blob_id:
                self.by_media[video.blob_id] = video
        self.open: dict[Any, Home] = {}

    def of(self, item: Item) -> tuple[Home, float]:
        """The item's video, and the second of it at which the item's clip begins. Raises FormatError."""
        clip = _plain(item.clip_file)
        if clip and clip != self.stem(item.clip_file) and clip in self.by_name:
            return self._one(clip, str(item.clip_file)), 0.0
        media = self.by_media.get(item.video_id or "")
        if media is not None:  # a release of the studio names the file by its hash
            return self._opened(media), item.clip_offset or 0.0
        for name in (item.video_name, item.video_id, item.clip_file):
            if name and self.stem(name) in self.by_name:
                return self._one(self.stem(name), name), item.clip_offset or 0.0
        wanted = item.video_name or item.video_id or item.clip_file
        if not wanted:
            raise FormatError("the item names no video (video_name, video_id or clip_file).")
        raise FormatError(f"the project has no video named {wanted!r}.")

    def _one(self, key: str, name: str) -> Home:
        videos = self.by_name[key]
        if len(videos) > 1:
            raise FormatError(f"the project has {len(videos)} videos that {name!r} may mean.")
        return self._opened(videos[0])

    def _opened(self, video: Video) -> Home:
        if video.id not in self.open:
            if video.state != Video.State.READY:
                raise FormatError(f"the video {video.name!r} is not imported to the end.")
            self.open[video.id] = Home(video, frame_seconds(video), _numbers(video))
        return self.open[video.id]


def _plain(name: str | None) -> str:
    """A file's name without folder and ending, small."""
    return Path((name or "").replace("\\", "/")).stem.casefold()


def _numbers(video: Video) -> dict[int, str]:
    """Person number -> id; somebody merged goes by the other's id."""
    rows = {person.id: person for person in Person.objects.filter(video=video)}

    def root(person: Person) -> Person:
        return root(rows[person.merged_into_id]) if person.merged_into_id in rows else person

    return {person.number: str(root(person).id) for person in rows.values()}


# ---------------------------------------------------------------------------------------------------------------------
# One item


def draft_of(item: Item, home: Home, offset: float, scheme: Scheme | None) -> Draft:
    """The item as a draft without a proof; `offset`: where its clip begins. Raises FormatError and Refused."""
    if scheme and item.scheme not in (None, scheme):
        raise FormatError(f"scheme: the item says {item.scheme}, not {scheme}; leave --scheme out.")
    slug = grasp_codes.slug_of(item.category or "", scheme or item.scheme)
    start, end = _span(item, home, offset)
    options = [
        {
            "id": checks.ascii_lowercase[at],
            "text": with_slots(answers.split_option(text)[1], home, offset),
            "value": None,
        }
        for at, text in enumerate(item.options[: checks.MOST_OPTIONS])
    ]
    text = with_slots(item.question, home, offset)
    if not text.strip() or len(text) > checks.MOST_TEXT:
        raise FormatError(f"qa.question: expected between 1 and {checks.MOST_TEXT} characters.")
    key = _key(item, options, home, offset)
    if options:
        checks.check_options(options, "single", home.video, set_of(home))
    return Draft(
        category=slug,
        kind="open" if item.open_ended else "single",
        text=text,
        options=options,
        key=key,
        proof=None,  # type: ignore[arg-type]  # nothing is proven yet
        reasoning=_reasoning(item, home, offset),
        start=start,
        end=end,
        difficulty="",
        template="",
    )


def set_of(home: Home) -> Mapping[str, Any]:
    return dict.fromkeys(home.ids.values())


def _key(item: Item, options: Sequence[Mapping[str, Any]], home: Home, offset: float) -> list[Any]:
    if item.open_ended:
        if options:
            raise FormatError("qa.options: an open-ended item has none.")
        said = item.answer_text or item.answer or ""
        if not said.strip() or len(said) > checks.MOST_TEXT:
            raise FormatError(f"qa.answer: expected between 1 and {checks.MOST_TEXT} characters.")
        return [with_slots(said, home, offset)]
    letter = (item.answer or "").strip()
    at = ord(letter) - ord("A") if len(letter) == 1 else -1
    if len(item.options) > checks.MOST_OPTIONS or not 0 <= at < len(options):
        raise FormatError(f"qa.answer: {letter[:20]!r} is not the letter of one of the {len(options)} options.")
    return [options[at]["id"]]


def _span(item: Item, home: Home, offset: float) -> tuple[int, int]:
    """Source frames [start, end) of what is asked about: the time range on whichever clock it fits, or the clip."""
    length = item.clip_duration
    low, high = item.time_range or (offset, offset + (length or 0.0))
    if item.time_range and length and not (offset - SLACK <= low and high <= offset + length + SLACK):
        if not (low >= -SLACK and high <= length + SLACK):
            raise FormatError(f"qa.time_range: {low:g}-{high:g} s does not lie in the clip.")
        low, high = low + offset, high + offset
    if high < low:
        raise FormatError(f"qa.time_range: it goes from {low:g} s back to {high:g} s.")
    if not item.time_range and not length:
        return 0, home.video.frames
    start = home.frame(low)
    return start, max(start + 1, home.frame(high))


def _reasoning(item: Item, home: Home, offset: float) -> str:
    text = with_slots(item.reasoning or "", home, _clock_of_reasoning(item, offset))
    if len(text) > 8 * checks.MOST_TEXT:
        raise FormatError(f"qa.reasoning: expected at most {8 * checks.MOST_TEXT} characters.")
    return text


def _clock_of_reasoning(item: Item, offset: float) -> float:
    """Released traces keep source time: 0 where this one does, else the clip's beginning."""
    from ml.questions.lint import times as check
    from ml.questions.lint.one import World, one_of

    found = check.check(one_of(0, item, None), World())
    return 0.0 if any(finding.code == "source_time_in_reasoning" for finding in found) else offset


def with_slots(text: str, home: Home, offset: float) -> str:
    """Free text with persons and moments as slots, its braces doubled. Raises FormatError for persons not there."""
    marks: list[tuple[int, int, str]] = []
    for moment in times.mentions(text):
        if moment.kind in ("point", "span"):
            marks.append((moment.start, moment.end, _time_slots(text[moment.start : moment.end], moment, home, offset)))
    for mention in persons.mentions(text) if home.ids else ():
        if any(start < mention.end and mention.start < end for start, end, _ in marks):
            continue
        marks.append((mention.start, mention.end, _person_slots(mention, home)))
    pieces, at = [], 0
    for start, end, slot in sorted(marks):
        pieces += [slots.literal(text[at:start]), slot]
        at = end
    return "".join([*pieces, slots.literal(text[at:])])


def _person_slots(mention: persons.Mention, home: Home) -> str:
    missing = [number for number in mention.numbers if number not in home.ids]
    if missing:
        raise FormatError(
            f"{persons.listed(missing)} named, but the video {home.video.name!r} has nobody of that number."
        )
    each = [slots.person(home.ids[number]) for number in mention.numbers]
    return each[0] if len(each) == 1 else f"{', '.join(each[:-1])} and {each[-1]}"


def _time_slots(words: str, moment: times.Mention, home: Home, offset: float) -> str:
    first, last = (slots.time(home.frame(second + offset)) for second in (moment.low, moment.high))
    if moment.kind == "point":
        return first
    lead = words.split(maxsplit=1)[0].lower()
    if lead in ("from", "between"):
        return f"{words[: len(lead)]} {first} {'to' if lead == 'from' else 'and'} {last}"
    return f"{words[0] if words[0] in '([' else ''}{first} to {last}"
