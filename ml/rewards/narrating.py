"""Lexicon forms of the two AffectOmni rewards, and the order of events told.

Heuristics, in English: they say what a text mentions and how it is told, not whether it is true. The public code counts
substrings, so that "theater" holds a "he" and a reversed story full of markers scores high; here words are whole, the
score is per length, and an order that the stated times contradict is worth nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from string import ascii_uppercase
from typing import NamedTuple

from ml.rewards.rows import Row, Truth
from ml.text import answers, persons, tags, times


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PEOPLE = _words("""
    person persons people man men woman women boy boys girl girls child children kid kids baby toddler adult
    adults teenager speaker listener mother father parent parents son daughter friend friends couple he she they
    him her them his hers their someone somebody everyone everybody nobody
""")
_FACES = _words("""
    smile smiles smiling smiled frown frowns frowning frowned grin grins grinning laugh laughs laughing laughed
    cry cries crying tears blush brow brows eyebrow eyebrows lips mouth eyes face facial expression gaze gazes
    gazing stare stares staring glance glances glancing wink winks grimace pout pouts sob sobs
""")
_MOVES = _words("""
    turn turns turning turned lean leans leaning leaned nod nods nodding nodded shrug shrugs wave waves waving
    walk walks walking walked stand stands standing sit sits sitting step steps stepping raise raises raising
    lower lowers hand hands arm arms shoulder shoulders posture gesture gestures gesturing clench clenches cross
    crosses crossed fidget fidgets
""")
_BETWEEN = _words("""
    look looks looking looked point points pointing pointed show shows showing give gives giving reach reaches
    reaching hug hugs hugging kiss kisses touch touches touching hold holds holding push pushes pull pulls talk
    talks talking speak speaks speaking answer answers reply replies greet greets follow follows following
    together other
""")
_SURROUNDINGS = _words("""
    building theater theatre room wall walls street car cars tree trees sky weather furniture lighting
    background camera scenery landscape floor ceiling window windows
""")
_FACETS = (_FACES, _MOVES, _BETWEEN)
_WORD = re.compile(r"[A-Za-z]+(?:['’][a-z]+)?")
FULL_PEOPLE, FULL_FACET, FREE_SURROUNDINGS = 0.06, 0.02, 0.03  # shares of all words
_TOKEN = re.compile(r"[a-z]+|[0-9]+(?:\.[0-9]+)?")
MOST_OF_ONE = 3  # times that one word counts
SHORTEST = 20  # words: a shorter text is held against so many

_MARKER = re.compile(
    r"\b(?:first|firstly|at first|initially|in the beginning|at the beginning|to begin with|then|next|after(?:wards?)?|"
    r"later|subsequently|meanwhile|at the same time|while|before|until|once|finally|in the end|at the end|eventually|"
    r"lastly)\b",
    re.IGNORECASE,
)
_BACKWARD = re.compile(
    r"\b(?:before (?:that|this|then)|earlier|previously|prior to (?:that|this)|had (?:already|just))\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"[^.!?;\n]+(?:[.!?](?=[0-9a-z])[^.!?;\n]*)*")
FULL_MARKERS = 1 / 15  # of the words
UNTIMED_AT_MOST = 0.5


def rationale(row: Row) -> str:
    """What is told: everything but the answer block, without the tags' own letters."""
    text, at, kept = row.completion, 0, []
    for block in tags.blocks(text, "answer"):
        kept.append(text[at : block.start])
        at = block.end
    return tags.plain("".join([*kept, text[at:]]))


def person_focus(row: Row) -> float:
    """Does the reasoning speak of people, their faces, movements and dealings with each other? Range [0, 1].

    0.5 · min(1, people / 6 %) + 0.5 · mean over the three facets of min(1, words of it / 2 %), minus what words for
    surroundings exceed 3 %, in shares of all words; a word counts at most three times, a text shorter than 20 words is
    taken for one of 20. The three facets are those reported of the AffectOmni rubric (expression, movement,
    interaction); the numbers are ours.

    Known holes: an English word list; a text about the right words need not be true, nor about this video.
    """
    found = focus(row)
    if not found.words:
        return 0.0
    length = max(found.words, SHORTEST)
    score = 0.5 * min(1.0, found.people / length / FULL_PEOPLE)
    score += 0.5 * sum(min(1.0, count / length / FULL_FACET) for count in found.facets) / 3
    return min(1.0, max(0.0, score - max(0.0, found.around / length - FREE_SURROUNDINGS)))


class Focus(NamedTuple):
    """What `person_focus` counts, in words: all of them, of people, of each facet (faces, movements, dealings with each
    other), of surroundings; one word counts at most three times."""

    words: int
    people: int
    facets: tuple[int, ...]
    around: int


def focus(row: Row) -> Focus:
    text = persons.without(rationale(row))  # "Persons 1, 2 and 3" is one word for people
    words = [word.lower() for word in _WORD.findall(text)]
    counts = Counter({word: min(MOST_OF_ONE, times) for word, times in Counter(words).items()})

    def of(lexicon: frozenset[str]) -> int:
        return sum(counts[word] for word in lexicon)

    return Focus(len(words), of(_PEOPLE), tuple(map(of, _FACETS)), of(_SURROUNDINGS))


def temporal_order(row: Row) -> float:
    """Is the story told in time, and do the times it states run the way it tells them? Range [0, 1].

    With two or more stated moments in different sentences: m · c, with m = min(1, markers / (words / 15)) or, where it
    is more, min(1, moments / 3), and c = max(0, (C - D) / (C + D)) over all pairs of moments told one after the other:
    C run forward in time, D backward, unless the later sentence says it goes back ("earlier", "before that"). Without
    two moments: at most 0.5 · m. So a story told backward is worth 0. The rubric reported of AffectOmni is markers and
    a coherent course; the numbers are ours.

    Known holes: English; an order without times cannot be checked; markers may be strewn up to the cap.
    """
    found = course(row)
    if not found.words:
        return 0.0
    markers = min(1.0, found.markers / max(found.words, SHORTEST) / FULL_MARKERS)
    if not found.forward + found.backward:
        return UNTIMED_AT_MOST * markers
    runs = max(0.0, (found.forward - found.backward) / (found.forward + found.backward))
    return max(markers, min(1.0, found.moments / 3)) * runs


class Course(NamedTuple):
    """What `temporal_order` counts: words, words of order, sentences with a stated moment, and pairs of those that run
    forward in time, or backward."""

    words: int
    markers: int
    moments: int
    forward: int
    backward: int


def course(row: Row) -> Course:
    text = rationale(row)
    told = _moments(text)
    forward = backward = 0
    for (earlier, _), (later, back) in combinations(told, 2):
        if earlier != later:
            agrees = (later > earlier) != back
            forward, backward = forward + agrees, backward + (not agrees)
    return Course(len(_WORD.findall(text)), len(_MARKER.findall(text)), len(told), forward, backward)


def _moments(text: str) -> list[tuple[float, bool]]:
    """The first moment of each sentence that states one, and whether the sentence says that it goes back."""
    found = []
    for match in _SENTENCE.finditer(text):
        stated = [m for m in times.mentions(match[0]) if m.kind in ("point", "span")]
        if stated:
            found.append((min(stated[0].values), bool(_BACKWARD.search(match[0]))))
    return found


def thinking_focus(row: Row) -> float | None:
    """Does the reasoning speak of the right option more than of the wrong ones? Range {0, 0.3, 0.7, 1}.

    r: the share of the right options' own words (those no other option has) that the reasoning names; w: the largest
    such share of a wrong option. 1 when r > 1.5 w, 0.7 when r > w, 0.3 when they are equal, else 0. Source: the public
    AffectOmni code, which gives 0.5 where it has no options (and never has any); here that is no value (None).

    Known holes: repeating the option is enough; options that differ in numbers only differ in those.
    """
    found = named_options(row)
    if found is None:
        return None
    best, wrong = found
    return 1.0 if best > 1.5 * wrong else 0.7 if best > wrong else 0.3 if best == wrong else 0.0


def named_options(row: Row) -> tuple[float, float] | None:
    """r and w of `thinking_focus`; None where the row has no right and wrong options."""
    right = _right_options(row)
    if not right or len(right) == len(row.options):
        return None
    words = [frozenset(_TOKEN.findall(answers.split_option(option)[1].lower())) for option in row.options]
    counts = Counter(word for option in words for word in option)
    told = frozenset(_TOKEN.findall(rationale(row).lower()))
    shares = [_share(frozenset(w for w in option if counts[w] == 1) or option, told) for option in words]
    return max(shares[i] for i in right), max(share for i, share in enumerate(shares) if i not in right)


def _right_options(row: Row) -> set[int]:
    """Positions of the options that the row's answer names, by letter or by text."""
    if row.answer is None:
        return set()
    texts = [answers.split_option(option)[1].strip().lower() for option in row.options]
    if row.answer.strip().lower() in texts:
        return {texts.index(row.answer.strip().lower())}
    letters = answers.letters(row.answer, ascii_uppercase[: len(row.options)])
    return {ascii_uppercase.index(letter) for letter in letters}


def _share(words: frozenset[str], told: frozenset[str]) -> float:
    return len(words & told) / len(words) if words else 0.0


def event_order(row: Row) -> float | None:
    """Are the events told in the order in which they happened? Range [0, 1]; ours (the papers' future work).

    An event is told where a gaze or gesture sentence of its modality names one of its targets (of all its persons where
    it has none), and the sentence's time, if it states one, meets the event. Over pairs of events with different
    starts: (C - D) / all pairs, not below 0; C are told in the right order, D in the wrong one, and pairs of which one
    is not told count as neither, so that silence does not pay. None with fewer than two events of different starts.

    Known holes: an event is known by its persons and time only; two of the same people within a sentence are one.
    """
    found = told_pairs(row)
    return None if found is None else max(0.0, (found[1] - found[2]) / found[0])


def told_pairs(row: Row) -> tuple[int, int, int] | None:
    """All pairs of events of `event_order`, those told in the right order, those in the wrong one; None without any."""
    events = [event for event in row.events if event.span is not None]
    pairs = [(a, b) for a, b in combinations(events, 2) if a.span and b.span and a.span[0] != b.span[0]]
    if not pairs:
        return None
    places = {id(event): _told_at(row, event) for event in events}
    right = wrong = 0
    for a, b in pairs:
        first, second = places[id(a)], places[id(b)]
        if a.span and b.span and first is not None and second is not None and first != second:
            agrees = (first < second) == (a.span[0] < b.span[0])
            right, wrong = right + agrees, wrong + (not agrees)
    return len(pairs), right, wrong


def _told_at(row: Row, event: Truth) -> int | None:
    """Where the completion first tells of the event."""
    wanted = (event.persons - row.asked) or event.persons
    assert event.span is not None
    start, end = event.span
    for segment in row.reply.segments:
        if segment.modality != event.modality or not segment.persons & wanted:
            continue
        spans, points = segment.stated
        met = any(low <= end and start <= high for low, high in spans) or any(start <= one <= end for one in points)
        if met or not (spans or points):
            return segment.start
    return None
