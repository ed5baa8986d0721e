"""Reading a model's reply as it came: where its reasoning stands, what it answers, and what had to be mended.

    parsed("<think>The child reaches for the ball <answer>B")
    -> Parsed(rationale_spans=((7, 37),), answer="B", letters=("B",), repairs=("The block <think> at 0 is never ...",))

The reasoning is what stands inside <context>, <think>, <gaze> and <gesture>; without any of them it is the whole reply.
Never the <answer> block, nor a line that begins with "Answer:", "Final answer:" or "答案". Tags may be broken: written
in capitals, with blanks, a bracket missing, other brackets, opened twice, never closed. A block that is never closed
ends at the next tag; one whose opening is missing begins after the tag before. Every repair is one sentence.

Spans are characters of the reply, half-open; they hold no tag. The text is read once, from left to right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ml.text import answers

RATIONALE = ("context", "think", "gaze", "gesture")
NAMES = (*RATIONALE, "answer")
MOST_REPAIRS = 50  # sentences; of more only the number is said
_WORD = r"(?P<name>context|think(?:ing)?|gazes?|gestures?|answers?)"
_KNOWN = re.compile(
    r"(?:<|＜|〈|&lt;|\[(?=\s*[/\\]?\s*(?:context|think|gaze|gesture|answer)\s*\]))\s*(?P<close>[/\\])?\s*"
    rf"{_WORD}\b\s*(?P<self>/)?\s*(?P<end>(?:>|＞|〉|&gt;|\])+)?"
    r"|(?<![\w<＜〈/\\])(?P<late>[/\\])?(?P<bare>context|think|gaze|gesture|answer)(?:>|＞|〉|&gt;)",
    re.IGNORECASE,
)
_OTHER = re.compile(r"</?[A-Za-z][A-Za-z0-9_-]{0,30}\s*/?>")
_ANSWER_LINE = re.compile(
    r"^[ \t]*(?:[*_#>-]+[ \t]*)*(?:(?:the[ \t]+)?(?:final[ \t]+)?answer[ \t]*[*_]*[ \t]*[:：]|(?:最终)?答案)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reply holds. `rationale_spans`: where the reasoning stands, ascending, disjoint, without tags and answers.

    `answer`: the words of the last answer block, else of the last answer line, else "". `letters`: the letters of the
    answer, in the order given. `repairs`: what was mended, a sentence each.
    """

    rationale_spans: tuple[tuple[int, int], ...]
    answer: str
    letters: tuple[str, ...]
    repairs: tuple[str, ...]


@dataclass(slots=True)
class _Tag:
    start: int
    end: int
    name: str  # "" for a tag of another kind
    closing: bool
    sound: bool  # written as taught
    partner: int | None = None  # position of the closing tag that belongs to it


def parsed(text: str, letters: str = answers.LETTERS) -> Parsed:
    """Read a reply; never raises for any text. `letters`: those on offer."""
    tags = list(_tags(text))
    repairs = [
        f"The tag {text[tag.start : tag.end]!r} at {tag.start} was read as <{'/' if tag.closing else ''}{tag.name}>."
        for tag in tags
        if tag.name and not tag.sound
    ]
    lone = _pair(tags)
    blocks, mended = _blocks(text, tags, lone)
    repairs += mended
    inside = [(a, b) for name, a, b in blocks if name in RATIONALE]
    answered = [(a, b) for name, a, b in blocks if name == "answer"]
    whole = not inside
    cut = _merged([*answered, *((tag.start, tag.end) for tag in tags)])
    spans = _without(_merged([(0, len(text))] if whole else inside), cut)
    spans, lines = _without_answer_lines(text, spans)
    answer = next((words for a, b in reversed(answered) if (words := text[a:b].strip())), "")
    if not answer:
        outside = lines or ([] if whole else _answer_lines(text))
        answer = _after_mark(text[slice(*outside[-1])]) if outside else ""
    if len(repairs) > MOST_REPAIRS:
        repairs = [*repairs[:MOST_REPAIRS], f"{len(repairs) - MOST_REPAIRS} more repairs of the same kinds."]
    return Parsed(tuple(spans), answer, _letters(text, answer, letters), tuple(repairs))


def _letters(text: str, answer: str, letters: str) -> tuple[str, ...]:
    found = answers.letters(answer, letters) if answer else ()
    if found:
        return found
    one = answers.letter(text, letters) if not answer else None
    return (one,) if one else ()


# --- tags ------------------------------------------------------------------------------------------------------------


def _tags(text: str) -> Iterator[_Tag]:
    """Every tag from left to right; the known ones also where they are broken."""
    others = _OTHER.finditer(text)
    other = next(others, None)
    for match in _KNOWN.finditer(text):
        while other and other.start() < match.start():
            if other.end() <= match.start():
                yield _Tag(other.start(), other.end(), "", False, True)
            other = next(others, None)
        while other and other.start() < match.end():
            other = next(others, None)
        written = (match["name"] or match["bare"]).lower()
        name = next(known for known in NAMES if written.startswith(known))
        closing = bool(match["close"] or match["late"])
        sound = match[0] == f"<{'/' if closing else ''}{name}>"
        yield _Tag(match.start(), match.end(), name, closing, sound)
    while other:
        yield _Tag(other.start(), other.end(), "", False, True)
        other = next(others, None)


def _pair(tags: list[_Tag]) -> list[int]:
    """Give each opening tag its closing one, innermost first; the positions of closing tags that stay alone."""
    open_ones: dict[str, list[int]] = {name: [] for name in NAMES}
    lone = []
    for at, tag in enumerate(tags):
        if not tag.name:
            continue
        if not tag.closing:
            open_ones[tag.name].append(at)
        elif open_ones[tag.name]:
            tags[open_ones[tag.name].pop()].partner = at
        else:
            lone.append(at)
    return lone


def _blocks(text: str, tags: list[_Tag], lone: list[int]) -> tuple[list[tuple[str, int, int]], list[str]]:
    """(name, start, end) of every block, by its beginning, and the repairs."""
    found, repairs = [], []
    known = [at for at, tag in enumerate(tags) if tag.name]
    following = dict(zip(known, known[1:], strict=False))
    before = dict(zip(known[1:], known, strict=False))
    for at in known:
        tag = tags[at]
        if not tag.closing:
            if tag.partner is not None:
                found.append((tag.name, tag.end, tags[tag.partner].start))
                continue
            after = following.get(at)
            end = tags[after].start if after is not None else len(text)
            where = f"the next tag, at {end}" if after is not None else "the end of the reply"
            repairs.append(f"The block <{tag.name}> at {tag.start} is never closed; it was taken to end at {where}.")
            found.append((tag.name, tag.end, end))
    for at in lone:
        tag = tags[at]
        earlier = before.get(at)
        start = tags[earlier].end if earlier is not None else 0
        # "<answer>B</think>": the words between belong to the block that was never closed
        taken = earlier is not None and not tags[earlier].closing and tags[earlier].partner is None
        if taken or not text[start : tag.start].strip():
            repairs.append(f"The tag </{tag.name}> at {tag.start} closes nothing and was passed over.")
            continue
        where = f"after the tag before it, at {start}" if earlier is not None else "at the beginning of the reply"
        repairs.append(
            f"The block that </{tag.name}> at {tag.start} closes is never opened; it was taken to begin {where}."
        )
        found.append((tag.name, start, tag.start))
    return sorted(found, key=lambda block: block[1:]), repairs


# --- spans -----------------------------------------------------------------------------------------------------------


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif start < end:
            merged.append((start, end))
    return merged


def _without(spans: list[tuple[int, int]], cut: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans less what is cut out of them; both ascending and disjoint."""
    left, at = [], 0
    for start, end in spans:
        while at < len(cut) and cut[at][1] <= start:
            at += 1
        here = at
        while here < len(cut) and cut[here][0] < end:
            if cut[here][0] > start:
                left.append((start, cut[here][0]))
            start = max(start, cut[here][1])
            here += 1
        if start < end:
            left.append((start, end))
    return left


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for line in re.finditer(r"[^\r\n]+", text[start:end]):
        yield start + line.start(), start + line.end()


def _without_answer_lines(
    text: str, spans: list[tuple[int, int]]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The spans without answer lines, and those lines. A line begins where the text's does, or at a tag."""
    kept, lines = [], []
    for start, end in spans:
        if "nswer" not in (words := text[start:end]) and "答案" not in words and "NSWER" not in words:
            kept.append((start, end))
            continue
        found = [line for line in _lines(text, start, end) if _ANSWER_LINE.match(text[slice(*line)])]
        lines += found
        kept += _without([(start, end)], found)
    return kept, lines


def _answer_lines(text: str) -> list[tuple[int, int]]:
    return [line for line in _lines(text, 0, len(text)) if _ANSWER_LINE.match(text[slice(*line)])]


def _after_mark(line: str) -> str:
    """The words of an answer line after its mark."""
    match = _ANSWER_LINE.match(line)
    return (line[match.end() :] if match else line).strip(" \t*_:：是为.。")
