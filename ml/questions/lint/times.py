"""Do the item's times lie inside its clip, on the clip's clock, the right way round?

`time_range` may be on either clock (released items give source seconds): it has to fit one of the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ml.questions.lint.findings import Finding, Fix
from ml.questions.lint.one import One, World
from ml.text import times

SLACK = 0.5  # seconds: one step of a clip stored at 2 frames a second
SHIFTED = 0.06  # seconds by which two texts may differ in one decimal


def check(one: One, world: World) -> Iterator[Finding]:
    yield from _clip(one)
    yield from _range(one)
    yield from _texts(one)
    yield from _reasoning(one)


def _clip(one: One) -> Iterator[Finding]:
    item = one.item
    if item.clip_duration is not None and item.clip_duration <= 0:
        yield Finding("duration_not_positive", f"The clip lasts {item.clip_duration:g} s.", one.at)
    if item.clip_offset is not None and item.clip_offset < 0:
        yield Finding("time_outside_clip", f"The clip begins at {item.clip_offset:g} s of its video.", one.at)


def _range(one: One) -> Iterator[Finding]:
    item = one.item
    if item.time_range is None:
        return
    start, end = item.time_range
    if end < start:
        yield Finding("time_inverted", f"The time_range goes from {start:g} s back to {end:g} s.", one.at)
        return
    if end == start:
        yield Finding("empty_time_range", f"The time_range begins and ends at {start:g} s.", one.at)
    if one.span is None or not item.clip_duration or item.clip_duration <= 0:
        return
    if not (_inside(start, end, *one.span) or _inside(start, end, 0.0, item.clip_duration)):
        low, high = one.span
        yield Finding(
            "time_outside_clip",
            f"The time_range {start:g}-{end:g} s lies neither in the clip (0-{item.clip_duration:g} s) nor where it "
            f"was cut from its video ({low:g}-{high:g} s).",
            one.at,
        )


def _inside(start: float, end: float, low: float, high: float) -> bool:
    return low - SLACK <= start and end <= high + SLACK


def _texts(one: One) -> Iterator[Finding]:
    yield from _text(one, "question", one.times)
    for at, words in enumerate(one.words[:26]):
        yield from _text(one, f"option {chr(ord('A') + at)}", times.mentions(words))


def _text(one: One, where: str, found: Sequence[times.Mention]) -> Iterator[Finding]:
    for mention in found:
        if mention.kind == "span" and mention.high < mention.low:
            yield Finding(
                "time_inverted", f"The {where} goes from {mention.low:g} s back to {mention.high:g} s.", one.at
            )
        if mention.kind in ("length", "bare") and mention.low <= 0 and (mention.kind == "length" or "option" in where):
            yield Finding("duration_not_positive", f"The {where} speaks of {mention.low:g} seconds.", one.at)
        if mention.kind == "span" and mention.high == mention.low:
            yield Finding("duration_not_positive", f"The span in the {where} has no length.", one.at)
        if mention.kind in ("point", "span"):
            yield from _place(one, where, mention)


def _place(one: One, where: str, mention: times.Mention) -> Iterator[Finding]:
    duration = one.item.clip_duration
    if duration is None or duration <= 0:
        return
    outside = [value for value in mention.values if not -1e-9 <= value <= duration + SLACK]
    if not outside:
        return
    in_source = one.span is not None and one.offset > 0
    if in_source and all(one.span[0] - SLACK <= v <= one.span[1] + SLACK for v in mention.values):  # type: ignore[index]
        sentence = f"The {where} cites {outside[0]:g} s, which is source time: the clip lasts {duration:g} s"
        yield Finding("source_time_in_question", f"{sentence} and begins at {one.offset:g} s.", one.at)
    else:
        yield Finding(
            "time_outside_clip", f"The {where} cites {outside[0]:g} s, but the clip lasts {duration:g} s.", one.at
        )


def _reasoning(one: One) -> Iterator[Finding]:
    """Times of the trace that only make sense on the source's clock."""
    item = one.item
    if not item.reasoning or one.span is None or item.clip_duration is None or one.offset <= SHIFTED:
        return
    cited = times.moments(item.reasoning)
    asked = [value for mention in one.times if mention.kind in ("point", "span") for value in mention.values]
    outside = [v for v in cited if v > item.clip_duration + SLACK and v <= one.span[1] + SLACK]
    moved = [v for v in cited if _near(v - one.offset, asked) and not _near(v, asked)]
    wrong = outside or (moved if not any(_near(v, asked) for v in cited) else [])
    if not wrong:
        beyond = [v for v in cited if v > one.span[1] + SLACK]
        if beyond:
            yield Finding(
                "time_outside_clip",
                f"The reasoning cites {beyond[0]:g} s, but the clip lasts {item.clip_duration:g} s.",
                one.at,
            )
        return
    at = f"{wrong[0]:g} s in the reasoning is {wrong[0] - one.offset:g} s of the clip"
    whole = all(-SHIFTED <= v - one.offset <= item.clip_duration + SLACK for v in cited)
    fix = Fix("qa.reasoning", times.shifted(item.reasoning, -one.offset)) if whole else None
    sentence = f"The reasoning cites source time while the question is relative to the clip: {at}."
    yield Finding("source_time_in_reasoning", sentence, one.at, fix)


def _near(value: float, others: Sequence[float]) -> bool:
    return any(abs(value - other) <= SHIFTED for other in others)
