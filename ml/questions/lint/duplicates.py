"""Does the set ask the same thing of the same recording twice, or what training asks?

Only questions about one recording, naming the same persons and the same times (on the source's clock), are compared:
two videos may well be asked the same. Of those, wordings are alike when the words that turn a sentence around (first,
not, before, ...) agree and at least 60 % of all content words are shared, the share GRASP's own validator drops an item
for. The comparison is blocked by recording, persons and number of times, so large sets stay cheap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ml.questions.lint import words
from ml.questions.lint.findings import Finding, quoted
from ml.questions.lint.one import One, World
from ml.questions.lint.recordings import Index, Seen, of_item, same_recording
from ml.text import times

ALIKE = 0.6
NEAR = 0.3  # seconds between two times that are the same moment
WINDOW = 60  # neighbours in time a question is compared with, where a recording has very many


@dataclass(frozen=True)
class Asked:
    """A question reduced to what is compared."""

    at: int
    seen: Seen
    persons: tuple[str, ...]
    times: tuple[float, ...]
    content: frozenset[str]
    contrasts: frozenset[str]
    text: str
    key: str
    options: frozenset[words.Tokens]


def asked(one: One, seen: Seen) -> Asked:
    """The question with moments on the source's clock; persons in the order named."""
    listed = words.tokens(one.item.question, one.offset)
    key = one.words[one.key] if one.key is not None else one.item.answer_text or one.item.answer or ""
    return Asked(
        at=one.at,
        seen=seen,
        persons=tuple(token for token in listed if token[0] == "@"),
        times=tuple(float(token[1:]) for token in listed if token[0] == "#"),
        content=words.content(listed),
        contrasts=words.contrasts(listed) | words.gestures(listed),
        text=one.item.question,
        key=key,
        options=frozenset(words.tokens(text) for text in one.words),
    )


def check(ones: Sequence[One], world: World) -> Iterator[Finding]:
    rows = [asked(one, of_item(one)) for one in ones]
    yield from _within(rows)
    if world.train is not None:
        yield from _across(rows, world.train)


def _within(rows: Sequence[Asked]) -> Iterator[Finding]:
    for block in _blocks(rows):
        for at, one in enumerate(block):
            for other in block[at + 1 : at + 1 + WINDOW]:
                if one.times and other.times and other.times[0] - one.times[0] > NEAR:
                    break
                if same_recording(one.seen, other.seen) and _alike(one, other):
                    yield from _pair(*sorted((one, other), key=lambda row: row.at))


def _blocks(rows: Iterable[Asked]) -> Iterable[list[Asked]]:
    """Rows that may be alike: one recording, the same persons, as many times; sorted by time, then wording."""
    blocks: dict[tuple[str, tuple[str, ...], int], list[Asked]] = defaultdict(list)
    for row in rows:
        name = f"recording {row.seen.recording}" if row.seen.recording else min(row.seen.names, default="")
        blocks[name, tuple(sorted(row.persons)), len(row.times)].append(row)
    for block in blocks.values():
        block.sort(key=lambda row: (row.times, sorted(row.content), row.at))
        yield block


def _alike(one: Asked, other: Asked) -> bool:
    if one.contrasts != other.contrasts or len(one.times) != len(other.times):
        return False
    if any(abs(a - b) > NEAR for a, b in zip(one.times, other.times, strict=True)):
        return False
    return words.likeness(one.content, other.content) >= ALIKE


def _pair(first: Asked, second: Asked) -> Iterator[Finding]:
    """What two alike questions are: the same, the same with two keys, or nearly the same."""
    identical = first.content == second.content and first.persons == second.persons
    same_key = words.same(first.key, second.key)
    if identical and not same_key and _rivals(first, second):
        yield Finding(
            "contradicting_questions",
            f"The question of item {first.at} is asked again, with the key {quoted(second.key)} instead of "
            f"{quoted(first.key)}.",
            second.at,
        )
    elif identical and same_key:
        yield Finding("duplicate_question", f"Item {first.at} asks the same: {quoted(second.text)}.", second.at)
    elif same_key or first.options == second.options:
        yield Finding(
            "near_duplicate_question",
            f"Item {first.at} asks nearly the same: {quoted(first.text)} and {quoted(second.text)}.",
            second.at,
        )


def _rivals(first: Asked, second: Asked) -> bool:
    """Each key is offered as a wrong option by the other: they cannot both be right."""
    return words.tokens(second.key) in first.options or words.tokens(first.key) in second.options


def _across(rows: Sequence[Asked], train: Sequence[Seen]) -> Iterator[Finding]:
    index = Index(train)
    for row in rows:
        for seen in index.of(row.seen):
            if seen.question and _same_question(row, seen):
                yield Finding(
                    "question_in_train", f"{seen.place} asks nearly the same: {quoted(seen.question)}.", row.at
                )
                break


def _same_question(row: Asked, seen: Seen) -> bool:
    """Same persons and wording; times agree on the source's clock, or both texts are of one clip's clock."""
    question = seen.question.partition("\nA)")[0]
    listed = words.tokens(question)
    if tuple(token for token in listed if token[0] == "@") != row.persons:
        return False
    if (
        words.contrasts(listed) | words.gestures(listed) != row.contrasts
        or words.likeness(words.content(listed), row.content) < ALIKE
    ):
        return False
    cited = [value for mention in times.mentions(question) for value in mention.values]
    if len(cited) != len(row.times):
        return False
    shifts = {0.0, *([seen.start] if seen.start is not None else [])}
    ours = {0.0, *([row.seen.start] if row.seen.start is not None else [])}
    return any(all(abs(a + by - b + back) <= NEAR for a, b in zip(cited, row.times, strict=True))
               for by in shifts for back in ours if by == 0.0 or back == 0.0)  # fmt: skip
