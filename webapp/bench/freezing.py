"""From accepted questions to released items: everything written out, on the clip's clock, in a fixed order.

An item is plain JSON and never changes:

    {"id", "category", "difficulty", "kind", "question", "options": [text], "answer": "B" | ["A", "C"] | number | text,
     "answer_text", "reasoning", "persons": [numbers named], "visible": [numbers seen] | null,
     "span": {"start", "end", "start_s", "end_s"},
     "gt_events": [{"source", "persons", "start", "end"}],
     "clip": {"sha256", "bytes", "frames", "width", "height", "duration_s", "start", "end", "offset_s", "rendering",
              "blur_faces", "recipe"},
     "video": {"name", "sha256", "recording", "licence"},
     "provenance": {"project", "question", "number", "video", "version", "round", "set", "revision", "origin",
                    "template", "made_with", "events", "free_form", "raters", "signed_by", "adjudication"}}

Times are seconds of the clip; `span` is of the source: frames, and seconds from its first presented frame. The hash is
over all of it, so an item with another word, letter, clip or rater is another item. The same rows give the same bytes
on any machine: nothing here depends on the clock, the locale or the order of a set.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from ml.formats.errors import FormatError
from ml.formats.hashing import digest
from ml.questions.facts import Facts
from ml.questions.slots import persons_in, render
from ml.questions.trace import gt_events
from webapp.bench import wording
from webapp.bench.facts import facts_of
from webapp.bench.models import Adjudication, Answer, Question
from webapp.lib.errors import Refused
from webapp.library.models import Project, Video

Item = dict[str, Any]
CHOOSING = ("single", "multiple", "yes_no")
FILE_FACTS = ("sha256", "bytes", "frames", "width", "height", "duration_s")


@dataclass(frozen=True)
class Place:
    """What the items of one video share. `seconds` float64[N + 1]: media seconds of the frames."""

    video: Video
    seconds: NDArray[np.float64]
    names: Mapping[str, str]
    facts: Facts


@dataclass(frozen=True)
class Voices:
    """Who said what of a question: raters of its last round, who signed, and the adjudication."""

    raters: list[str]
    signed_by: str
    adjudication: dict[str, Any] | None


def freeze(
    project: Project,
    questions: Sequence[Question],
    kept: Mapping[tuple[UUID, int], Item],
    *,
    names: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> list[Item]:
    """The items of these questions, by number. Each comes with its video and cut clip; reads frame times of the videos.

    `kept`: (question id, version) -> the item an earlier release has: its options keep their order. `names`: raters may
    be named; else they have pseudonyms. Raises Refused naming the question that cannot be printed.
    """
    ordered = sorted(questions, key=lambda question: question.number)
    places: dict[UUID, Place] = {}
    voices = voices_of(project, ordered, names=names)
    items: list[Item] = []
    for done, question in enumerate(ordered):
        if question.video_id not in places:
            places[question.video_id] = _place(question.video)
        try:
            items.append(_item(question, places[question.video_id], voices[question.id]))
        except (FormatError, ValueError, KeyError) as error:
            told = str(error) if isinstance(error, FormatError) else f"{type(error).__name__}: {error}"
            raise Refused(f"Question {question.number} cannot be printed: {told}", "questions") from error
        progress(done / len(ordered))
    give_letters(items, [kept.get((question.id, question.version)) for question in ordered])
    return items


def _place(video: Video) -> Place:
    facts = facts_of(video)
    return Place(video, facts.seconds, wording.names_of([video.id]), facts)


def _visible(facts: Facts, start: int, end: int) -> list[int] | None:
    """Numbers of those who are in the picture during [start, end); None where no run says who is."""
    if not any(person.visible for person in facts.persons):
        return None
    return sorted(p.number for p in facts.persons if any(a < end and start < b for a, b in p.visible))


def _item(question: Question, place: Place, voices: Voices) -> Item:
    clip, video, seconds = question.clip, place.video, place.seconds
    assert clip is not None
    last = len(seconds) - 1

    def clock(frame: int) -> float:
        if not clip.start <= frame <= min(clip.end, last):
            raise FormatError(f"It names frame {frame}, which lies outside its clip [{clip.start}, {clip.end}).")
        return float(seconds[frame] - seconds[clip.start])

    def printed(text: str) -> str:
        return render(text, place.names, clock)

    options = [{"id": one["id"], "text": printed(one["text"])} for one in question.options]
    texts = [question.text, *(one["text"] for one in question.options)]
    named = {place.names[person] for text in texts for person in persons_in(text)}
    _check_tags(clip.person_map, place)
    zero = float(seconds[0])
    events = gt_events(question.proof, place.facts, clock) if question.proof else []
    return {
        "id": f"q{question.number:05d}",
        "category": question.category,
        "difficulty": question.difficulty,
        "kind": question.kind,
        "question": printed(question.text),
        "options": options,  # with their ids until the letters are given
        "answer": [printed(one) if question.kind == "open" else one for one in question.key],
        "answer_text": "",
        "reasoning": printed(question.reasoning),
        "persons": sorted(int(name.rpartition(" ")[2]) for name in named),
        "visible": _visible(place.facts, clip.start, clip.end),
        "span": {
            "start": question.start,
            "end": question.end,
            "start_s": round(float(seconds[question.start]) - zero, 6),
            "end_s": round(float(seconds[question.end]) - zero, 6),
        },
        "gt_events": events,
        "clip": {
            **{name: clip.facts[name] for name in FILE_FACTS},
            "start": clip.start,
            "end": clip.end,
            "offset_s": round(float(seconds[clip.start]) - zero, 6),
            "rendering": clip.rendering,
            "blur_faces": clip.blur_faces,
            "recipe": clip.recipe,
        },
        "video": {
            "name": video.name,
            "sha256": video.blob_id or "",
            "recording": video.source_recording,
            "licence": video.licence or video.project.licence,
        },
        "provenance": _provenance(question, voices),
    }


def _check_tags(person_map: Mapping[str, str], place: Place) -> None:
    """The clip must print the people as the text names them: a merge after it was cut gives somebody another number."""
    for tag, person in person_map.items():
        name = place.names.get(person, "nobody of this video")
        if name != f"Person {tag[1:]}":
            raise FormatError(f"Its clip prints {tag} for {name}; have the clip cut again.")


def _provenance(question: Question, voices: Voices) -> dict[str, Any]:
    proof = question.proof or {}
    return {
        "project": str(question.project_id),
        "question": str(question.id),
        "number": question.number,
        "video": str(question.video_id),
        "version": question.version,
        "round": question.round,
        "set": proof.get("set", ""),
        "revision": proof.get("revision"),
        "origin": question.origin,
        "template": question.template,
        "made_with": question.provenance,
        "events": proof.get("events", []),
        "free_form": question.proof is None,
        "raters": voices.raters,
        "signed_by": voices.signed_by,
        "adjudication": voices.adjudication,
    }


# ---------------------------------------------------------------------------------------------------------------------
# Letters


def give_letters(items: Sequence[Item], kept: Sequence[Item | None]) -> None:
    """Put the options into their released order and turn keys into letters, in place.

    An item released before with the same version keeps its order. The others get theirs so that each letter is the key
    as often as any other, over all items with as many options and, as nearly, in each category. Which item gets which
    letter is decided by a hash of what it asks, never by where it stands, so nobody can count it off.
    """
    waiting: dict[int, list[Item]] = defaultdict(list)
    counts: dict[int, list[int]] = defaultdict(lambda: [0] * len(ascii_uppercase))
    for item, before in zip(items, kept, strict=True):
        if item["kind"] not in CHOOSING:
            _unlettered(item)
        elif before is not None and _takes_order_of(item, before):
            if item["kind"] == "single":
                counts[len(item["options"])][ascii_uppercase.index(item["answer"])] += 1
        elif item["kind"] == "single":
            waiting[len(item["options"])].append(item)
        else:
            _letter(item, item["options"] if item["kind"] == "yes_no" else _shuffled(item["options"], item))
    for number, group in sorted(waiting.items()):
        _balance(group, counts[number], number)


def _balance(group: list[Item], counts: list[int], number: int) -> None:
    """Draw the least used letter for each: within the category first, then over all; ties by hash."""
    by_category: dict[str, list[int]] = defaultdict(lambda: [0] * number)
    for item in sorted(group, key=_seed):
        own, seed = by_category[item["category"]], _seed(item)
        place = min(range(number), key=lambda n: (own[n], counts[n], hashlib.sha256(f"{seed} {n}".encode()).digest()))
        own[place] += 1
        counts[place] += 1
        wrong = _shuffled([one for one in item["options"] if one["id"] not in item["answer"]], item)
        right = [one for one in item["options"] if one["id"] in item["answer"]]
        _letter(item, [*wrong[:place], *right, *wrong[place:]])


def _seed(item: Item) -> str:
    """A hash of what the item asks, whatever the order of its options."""
    asked = [item["question"], sorted(one["text"] for one in item["options"]), item["clip"]["recipe"], item["id"]]
    return digest(asked)


def _shuffled(options: list[dict[str, str]], item: Item) -> list[dict[str, str]]:
    seed = _seed(item)
    return sorted(options, key=lambda one: hashlib.sha256(f"{seed} {one['text']}".encode()).digest())


def _takes_order_of(item: Item, before: Item) -> bool:
    """Give the item the option order of its earlier release, where it has the same options."""
    by_text = {one["text"]: one for one in item["options"]}
    if len(by_text) < len(item["options"]) or sorted(by_text) != sorted(before.get("options", [])):
        return False
    _letter(item, [by_text[text] for text in before["options"]])
    return True


def _letter(item: Item, ordered: Sequence[Mapping[str, str]]) -> None:
    right = [n for n, one in enumerate(ordered) if one["id"] in item["answer"]]
    letters = [ascii_uppercase[n] for n in right]
    item["options"] = [one["text"] for one in ordered]
    item["answer"] = letters if item["kind"] == "multiple" else letters[0]
    item["answer_text"] = "; ".join(ordered[n]["text"] for n in right)


def _unlettered(item: Item) -> None:
    item["options"] = []
    item["answer"] = item["answer"][0]
    item["answer_text"] = str(item["answer"]) if item["kind"] == "open" else f"{item['answer']:g}"


# ---------------------------------------------------------------------------------------------------------------------
# Who


def voices_of(project: Project, questions: Sequence[Question], *, names: bool) -> dict[UUID, Voices]:
    """Raters, signature and adjudication of each question, in two queries."""
    ids = [question.id for question in questions]
    round_of = {question.id: question.round for question in questions}
    raters: dict[UUID, list[str]] = defaultdict(list)
    for answer in Answer.objects.filter(question__in=ids).select_related("user").order_by("created", "id"):
        if answer.round == round_of[answer.question_id]:
            raters[answer.question_id].append(called(project, answer.user, names=names))
    verdicts = {}
    for one in Adjudication.objects.filter(question__in=ids).select_related("user").order_by("round"):
        if one.round == round_of[one.question_id]:
            by = called(project, one.user, names=names)
            verdicts[one.question_id] = {"verdict": one.verdict, "round": one.round, "by": by}
    return {
        question.id: Voices(
            sorted(raters[question.id]),
            called(project, question.signed_by, names=names) if question.signed_by_id else "",
            verdicts.get(question.id),
        )
        for question in questions
    }


def called(project: Project, user: Any, *, names: bool) -> str:
    """A person's name where that is allowed, else the same word for the same person in all releases of a project."""
    if user is None:
        return "somebody who left"
    if names:
        return str(user.shown_name)
    return "rater-" + hashlib.sha256(f"{project.id} {user.pk}".encode()).hexdigest()[:8]


# ---------------------------------------------------------------------------------------------------------------------
# Splits


def recording_of(item: Item) -> str:
    """What must not stand in two splits: the source recording where it is named, else the file."""
    return item["video"]["recording"] or item["video"]["sha256"] or item["provenance"]["video"]


def split_of(recording: str, shares: Mapping[str, float]) -> str:
    """The split of a recording: a hash of its name falls into one of the shares, in the order of their names."""
    point = int(hashlib.sha256(f"split {recording}".encode()).hexdigest()[:12], 16) / 16**12 * sum(shares.values())
    names = sorted(shares)
    for name in names:
        point -= shares[name]
        if point < 0:
            return name
    return names[-1]


def splits_of(items: Iterable[Item], shares: Mapping[str, float], before: Mapping[str, str]) -> list[str]:
    """The split of each item; a recording stays where an earlier release has it (`before`)."""
    return [before.get(recording_of(item)) or split_of(recording_of(item), shares) for item in items]
