"""What is looked for to check a claim, and on which frames.

The frames of a claim: its span and up to PAD_S on either side, in which a model's seconds are not taken more exactly;
and as a control as many frames outside of that, as near as the clip has them, half before and half after. All lie on
the sample grid of their shots (`ml.media.index.sample_frames`) at one rate for both parts: the highest of MOST_RATE,
MOST_RATE / 2, MOST_RATE / 3, ... that keeps both within MOST_FRAMES together. The padding ends at a cut, since another
scene says nothing about this one; a claim whose own span runs across a cut keeps it. A claim without a time is looked
for in the whole clip, which leaves no control.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ml.evidence.grounding.protocol import Query, Window
from ml.evidence.package import Claim, ClaimTime
from ml.media.index import FrameIndex, sample_frames
from ml.questions.clip import ClipClock

PAD_S = 1.0
MOST_FRAMES = 64  # of a claim, the control included
MOST_RATE = 8  # samples per second
SLOWEST = 1000  # the lowest rate is MOST_RATE / SLOWEST

Frames = NDArray[np.int64]
Spans = list[tuple[int, int]]


def queries_of(claim: Claim, persons: Mapping[int, int] | None = None) -> list[Query]:
    """What to look for, for one claim; nothing for one that no mask says anything about.

    For the phrase at position k (from 1): "phrase-k" with the whole wording; "category-k" with the bare head, where
    that says less than the phrase; "negative-k", where the claim has one. Then "person-t" for every printed tag t the
    claim names. `persons`: the person number of each tag (None: the tags are the numbers); a tag it lacks is nobody's,
    so it gets no query.
    """
    if not claim.groundable:
        return []
    queries = []
    for k, phrase in enumerate(claim.phrases, 1):
        queries.append(Query(f"phrase-{k}", phrase.text))
        if plain(phrase.head) not in ("", plain(phrase.text)):
            queries.append(Query(f"category-{k}", phrase.head, "category"))
        if phrase.negative:
            queries.append(Query(f"negative-{k}", phrase.negative, "negative"))
    tags = dict.fromkeys((*claim.persons, *(p.person for p in claim.phrases if p.person is not None)))
    for tag in tags:
        person = tag if persons is None else persons.get(tag)
        if person is not None:
            queries.append(Query(f"person-{tag}", "", "person", person))
    return queries


def plain(phrase: str) -> str:
    """A phrase without differences of case and spacing."""
    return " ".join(phrase.casefold().split())


def window_of(claim: Claim, clock: ClipClock, index: FrameIndex, shots: Sequence[tuple[int, int]]) -> Window:
    """The frames to look at for a claim about the clip of this clock.

    `index`: of the source video; `shots`: its half-open spans. Seconds before or after the clip are those of its first
    or last frame: whether a time lies in the clip is the verdict's question.
    """
    clip = clock.start, clock.end
    span = claimed_span(claim.time, clock)
    inside = [padded(span, clip, index, shots)]
    outside = control(inside[0], clip, index)
    kept, other = sampled(inside, outside, index, shots)
    if not len(kept):  # a span between two samples
        kept = np.array([span[0]])
    kept = thinned(kept, MOST_FRAMES - min(len(other), len(kept), MOST_FRAMES // 2))
    other = thinned(other, min(len(kept), MOST_FRAMES - len(kept)))
    frame = np.union1d(kept, other).astype(np.int64)
    return Window(frame, np.isin(frame, kept), span)


def claimed_span(time: ClaimTime, clock: ClipClock) -> tuple[int, int]:
    """Source frames [start, end) that the claim is about; the whole clip where it has no time."""
    if time.start_s is None or time.end_s is None:
        return clock.start, clock.end
    low, high = sorted((time.start_s, time.end_s))
    return clock.source_span(low, high)


def padded(
    span: tuple[int, int], clip: tuple[int, int], index: FrameIndex, shots: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """The span and up to PAD_S on either side, within the clip and the shots in which the span begins and ends."""
    start, end = span
    seconds = index.zeroed
    low = int(np.searchsorted(seconds, seconds[start] - PAD_S - 1e-6))
    high = int(np.searchsorted(seconds, seconds[end] + PAD_S - 1e-6))
    edges = np.unique([0, *(first for first, _ in shots), index.frames])
    first = int(edges[np.searchsorted(edges, start, side="right") - 1])
    last = int(edges[np.searchsorted(edges, end)])
    return max(low, first, clip[0]), min(max(high, end), last, clip[1])


def control(inside: tuple[int, int], clip: tuple[int, int], index: FrameIndex) -> Spans:
    """Spans outside of `inside` and within the clip, as long together as it is in seconds, or all there is."""
    seconds = index.zeroed
    start, end = inside
    before, after = float(seconds[start] - seconds[clip[0]]), float(seconds[clip[1]] - seconds[end])
    wanted = float(seconds[end] - seconds[start])
    back = min(before, max(wanted / 2, wanted - after))
    ahead = min(after, wanted - back)
    low = int(np.searchsorted(seconds, seconds[start] - back - 1e-6))
    high = int(np.searchsorted(seconds, seconds[end] + ahead - 1e-6))
    spans = [(max(low, clip[0]), start), (end, min(high, clip[1]))]
    return [(a, b) for a, b in spans if a < b]


def sampled(
    inside: Spans, outside: Spans, index: FrameIndex, shots: Sequence[tuple[int, int]]
) -> tuple[Frames, Frames]:
    """The samples inside and outside at the highest rate that is not too high. Where a span holds so many shots that
    their first frames alone are too many, a rate that would do for one shot is taken."""
    room = MOST_FRAMES if not outside else MOST_FRAMES // 2
    length = sum(float(index.zeroed[b] - index.zeroed[a]) for a, b in inside)
    first = max(1, int(length * MOST_RATE / (room + 1)))  # any higher rate has too many samples
    for divisor in range(first, 2 * first + 8, max(1, first // 16)):
        rate = Fraction(MOST_RATE, min(divisor, SLOWEST))
        kept = on_grid(inside, index, shots, rate)
        if len(kept) <= room:
            break
    return kept, on_grid(outside, index, shots, rate)


def on_grid(spans: Spans, index: FrameIndex, shots: Sequence[tuple[int, int]], rate: Fraction) -> Frames:
    """Samples of all shots at a rate that lie in one of the spans, ascending."""
    found = [np.empty(0, np.int64)]
    for low, high in spans:
        for start, end in shots:
            if start < high and low < end:
                grid = sample_frames(index, start, end, rate)
                found.append(grid[(grid >= low) & (grid < high)])
    return np.unique(np.concatenate(found))


def thinned(frames: Frames, most: int) -> Frames:
    """At most `most` of them, evenly spread, the first among them."""
    if len(frames) <= most:
        return frames
    return frames[np.arange(most) * len(frames) // max(most, 1)]


def parts(frames: Frames, shots: Sequence[tuple[int, int]]) -> list[Frames]:
    """The ascending frames split at the cuts between them; frames outside of every shot are left out."""
    first, last = (np.searchsorted(frames, [shot[k] for shot in shots]) for k in (0, 1))
    return [frames[a:b] for a, b in zip(first, last, strict=True) if a < b]
