"""The rewards worked out slowly, letter by letter and without a pattern, from what their docstrings say.

Times are not read: whoever writes a sentence here says what it states (`WHEN`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ml.rewards.rows import Row

Span = tuple[float, float]
Said = tuple[str, frozenset[int], tuple[Span, ...], tuple[float, ...]]  # modality, persons, spans, moments

WHEN: dict[str, tuple[tuple[Span, ...], tuple[float, ...]]] = {  # words -> spans and moments they state
    "": ((), ()),
    " from 3.0 s to 5.0 s": (((3.0, 5.0),), ()),
    " between 2 and 4 seconds": (((2.0, 4.0),), ()),
    " from 5.0 s until 3.0 s": (((3.0, 5.0),), ()),
    " (4.5-7.0 s)": (((4.5, 7.0),), ()),
    " [0:03, 0:05]": (((3.0, 5.0),), ()),
    " at 4.0 s": ((), (4.0,)),
    " at 0:09": ((), (9.0,)),
    " from two to five seconds": (((2.0, 5.0),), ()),
    " at 3.5 s and 8.0 s": ((), (3.5, 8.0)),
    " for 2 seconds": ((), ()),
    " 3 times while somebody listens": ((), ()),
    " 1.5 s later": ((), ()),
    " from 3.0 s to 5.0 s and from 8 to 9 s": (((3.0, 5.0), (8.0, 9.0)), ()),
}
AMOUNTS = {
    *("s", "ms", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes", "frame", "frames", "time"),
    *("times", "other", "others", "more", "people", "person", "persons", "event", "events", "gesture", "gestures"),
    *("gaze", "gazes", "shot", "shots", "clip", "clips", "fps", "percent", "meter", "meters", "metre", "metres"),
    *("m", "cm", "x"),
}


def blocks(text: str) -> list[tuple[str, int, int]]:
    """Name, first character and end of each closed block, by its beginning."""
    tags = [tag for at in range(len(text)) if (tag := _tag(text, at))]
    found = []
    last: dict[str, int] = {}
    for begin, end, name, closes in tags:
        if begin < last.get(name, 0):  # it is open already
            continue
        until = [start for start, _, other, closing in tags if closing and other == name and start >= end]
        if not closes and until:
            found.append((name, end, min(until)))
            last[name] = min(until)
    return found


def _tag(text: str, at: int) -> tuple[int, int, str, bool] | None:
    if text[at] != "<":
        return None
    closes = text[at + 1 : at + 2] == "/"
    end = text.find(">", at)
    name = text[at + 1 + closes : end].strip().lower()
    return (at, end + 1, name, closes) if end > 0 and name in ("think", "gaze", "gesture", "answer") else None


def answer(text: str) -> str | None:
    return next((text[start:end].strip() for name, start, end in blocks(text) if name == "answer"), None)


def said(text: str) -> list[Said]:
    """The sentences of closed gaze and gesture blocks that name somebody; within a block in a block, once."""
    both = [block for block in blocks(text) if block[0] in ("gaze", "gesture")]
    found = []
    for name, begin, end in both:
        inner = [(b, e) for _, b, e in both if begin < b < end]
        for start, words in sentences(text[begin:end]):
            who = frozenset(persons(words))
            if who and not any(b <= begin + start < e for b, e in inner):
                found.append((name, who, *_stated(words)))
    return found


def sentences(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    while at < len(text):
        if text[at] in ".!?;\n":
            at += 1
            continue
        start = at
        while at < len(text) and text[at] not in ";\n":
            following = text[at + 1 : at + 2]
            if text[at] in ".!?" and not (following.isascii() and (following.isdigit() or following.islower())):
                break
            at += 1
        while at < len(text) and text[at] in ".!?;":
            at += 1
        yield start, text[start:at]


def _stated(words: str) -> tuple[tuple[Span, ...], tuple[float, ...]]:
    """Of all words for times that stand there, one after the other."""
    spans: tuple[Span, ...] = ()
    moments: tuple[float, ...] = ()
    at = 0
    while at < len(words):
        here = max((when for when in WHEN if words.startswith(when, at)), key=len)
        spans, moments = spans + WHEN[here][0], moments + WHEN[here][1]
        at += max(1, len(here))
    return spans, moments


def persons(text: str) -> list[int]:
    found, at = [], 0
    while at < len(text):
        numbers, after = _mention(text, at)
        found += numbers
        at = max(after, at + 1)
    return found


def _mention(text: str, at: int) -> tuple[list[int], int]:
    """The persons of a mention that begins there, and where it ends."""
    before = text[at - 1 : at] if at else " "
    if text[at] not in "pP" or before == "_" or (before.isascii() and before.isalnum()):
        return [], at
    for word in ("persons", "people", "person"):
        if text[at : at + len(word)].lower() == word:
            start = _blank(text, at + len(word))
            number = _number(text, _blank(text, start + (text[start : start + 1] in ("#", "_"))))
            return _list(text, number, many=word != "person") if number else ([], at)
    number = _number(text, at + 1 + (text[at + 1 : at + 2] in (" ", "\t")))
    return ([number[0]], number[1]) if number else ([], at)


def _blank(text: str, at: int, blanks: str = " \t") -> int:
    while at < len(text) and text[at] in blanks:
        at += 1
    return at


def _number(text: str, at: int) -> tuple[int, int] | None:
    end = at
    while end < len(text) and text[end] in "0123456789":
        end += 1
    part = end + 1 < len(text) and text[end] in ".:" and text[end + 1] in "0123456789"
    return None if part or not 1 <= end - at <= 9 else (int(text[at:end]), end)


def _list(text: str, number: tuple[int, int], *, many: bool) -> tuple[list[int], int]:
    numbers, at = [number[0]], number[1]
    if many and (last := _follower(text, at, ("-", "–", "—", "to", "through"))):
        if numbers[0] < last[0] < numbers[0] + 20:
            return list(range(numbers[0], last[0] + 1)), last[1]
        return numbers, at
    while more := _follower(text, at, ("and", "&", "or"), spaced=True) or (many and _follower(text, at, (",",))):
        numbers.append(more[0])
        at = more[1]
    return numbers, at


def _follower(text: str, at: int, words: tuple[str, ...], *, spaced: bool = False) -> tuple[int, int] | None:
    """The number behind one of the words, if it counts persons. `spaced`: a comma before, blanks behind the word."""
    at = _blank(text, at, " \t\n")
    if spaced and text[at : at + 1] == ",":
        at = _blank(text, at + 1, " \t\n")
    for word in words:
        if text[at : at + len(word)].lower() == word:
            after = _blank(text, at + len(word), " \t\n")
            number = _number(text, after) if after > at + len(word) or not spaced else None
            return None if number is None or _is_amount(text, number[1]) else number
    return None


def _is_amount(text: str, at: int) -> bool:
    at = _blank(text, at, " \t\n")
    rest = text[at + (text[at : at + 1] == "-") :]
    end = next((i for i, letter in enumerate(rest) if not (letter.isascii() and letter.isalnum())), len(rest))
    return rest[:end].lower() in AMOUNTS or rest[:1] == "%" or rest.lower().startswith("looks at once")


def strict(row: Row) -> float | None:
    asked = set(persons(row.question))
    targets = [(event, event.persons - asked) for event in row.events if event.persons - asked]
    if not targets:
        return None
    wanted = {(event.modality, one) for event, novel in targets for one in novel}
    told = said(row.completion)
    named = {(modality, one) for modality, who, _, _ in told for one in who - asked}
    if not named & wanted:
        return 0.0
    share = len(named & wanted) / len(named)
    if row.visible is not None:
        everyone = (row.visible | {one for _, one in wanted}) - asked
        chance = len(wanted) / len(set(product({modality for modality, _ in wanted}, everyone)))
        share = share if chance == 1.0 else max(0.0, (share - chance) / (1.0 - chance))
    recalls = []
    for event, novel in targets:
        credits = []
        for one in novel:
            about = [piece for piece in told if piece[0] == event.modality and one in piece[1]]
            spans = [e.span for e, n in targets if e.modality == event.modality and one in n]
            credits.append(_credit(event.span, about, spans))
        recalls.append(sum(credits) / len(credits))
    return share * sum(recalls) / len(recalls)


def _credit(span: Span | None, about: list[Said], spans: list[Span | None]) -> float:
    if not about or span is None:
        return float(bool(about))
    timed = [piece[2] for piece in about if piece[2]]
    meets = [[_tiou(stated, one) >= 0.3 for one in spans if one is not None] for stated in timed]
    if any(_tiou(stated, span) >= 0.3 for stated in timed):
        return sum(map(any, meets)) / len(timed)
    inside = any(span[0] <= moment <= span[1] for piece in about for moment in piece[3])
    return 0.5 if inside or (not timed and any(not piece[3] for piece in about)) else 0.0


def _tiou(stated: tuple[Span, ...], span: Span) -> float:
    """By counting twentieths of a second (every time here is a multiple)."""
    ticks = [set(range(int(low * 20), int(high * 20))) for low, high in (*stated, span)]
    one, other = set().union(*ticks[:-1]), ticks[-1]
    return len(one & other) / len(one | other)


def released(row: Row) -> float | None:
    asked = set(persons(row.question))
    targets = [(event, event.persons - asked) for event in row.events if event.persons - asked]
    if not targets:
        return None
    seen: dict[str, set[int]] = {"gaze": set(), "gesture": set()}
    for name, start, end in blocks(row.completion):
        if name in seen:
            seen[name] |= set(_as_released(row.completion[start:end]))
    recall = sum(len(seen[event.modality] & novel) / len(novel) for event, novel in targets) / len(targets)
    shares = []
    for modality, who in seen.items():
        wanted = {one for event, novel in targets if event.modality == modality for one in novel}
        if who - asked and wanted:
            shares.append(len((who - asked) & wanted) / len(who - asked))
    return 0.7 * recall + 0.3 * (sum(shares) / len(shares) if shares else 0.0)


def _as_released(text: str) -> Iterator[int]:
    for at in range(len(text)):
        for head in ("Person", "P"):
            if text.startswith(head, at):
                start = _blank(text, at + len(head), " \t\n") if head == "Person" else at + 1
                end = _blank(text, start, "0123456789")
                if end > start and (head == "P" or start > at + len(head)):
                    yield int(text[start:end])
