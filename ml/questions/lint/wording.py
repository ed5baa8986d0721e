"""Do the item's words speculate, fit its category, or give the key away?

An item's category is at fault when its question fits none of the categories that its code may stand for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ml.questions.lint import words
from ml.questions.lint.categories import misfit
from ml.questions.lint.findings import Finding, quoted
from ml.questions.lint.one import One, World, slugs_of
from ml.questions.taxonomy import SCHEMES, Scheme
from ml.text import answers, phrases


def check(one: One, world: World) -> Iterator[Finding]:
    yield from _speculation(one)
    if one.slugs:
        why = [misfit(one, slug) for slug in sorted(one.slugs)]
        if all(why):
            code = one.item.category
            yield Finding("category_mismatch", f"{_code(one, code)}: the question {why[0]}.", one.at)
    yield from _given_away(one)


def _code(one: One, code: str | None) -> str:
    return f"{code} ({one.slug})" if one.slug and one.slug != code else str(code)


def _speculation(one: One) -> Iterator[Finding]:
    item = one.item
    parts = {"question": item.question, "answer": f"{item.answer_text or ''} {item.answer or ''}"}
    parts |= {f"option {answers.letter_of(at)}": text for at, text in enumerate(one.words[:26])}
    found = {where: listed for where, text in parts.items() if (listed := phrases.speculative(text))}
    if found:
        said = "; ".join(f"{', '.join(listed)} in the {where}" for where, listed in found.items())
        yield Finding("speculative_word", f"Speculation instead of something seen: {said}.", one.at)


def _given_away(one: One) -> Iterator[Finding]:
    """The keyed option's words, and only its, stand in the question; persons, times and types are fair game."""
    if one.key is None:
        return
    key = one.words[one.key]
    listed = words.tokens(key)
    telling = words.content(listed)
    if words.marks(listed) or words.contrasts(listed) or phrases.gaze_types(key) or phrases.gesture_types(key):
        return
    asked = words.content(words.tokens(one.item.question))
    rest = [words.content(words.tokens(text)) for at, text in enumerate(one.words) if at != one.key]
    if telling and telling <= asked and not any(other and other <= asked for other in rest):
        yield Finding("answer_in_question", f"The question itself contains the key {quoted(key)}.", one.at)


def whole_set(ones: Sequence[One], world: World) -> Iterator[Finding]:
    """Whether the named scheme is the one whose codes fit the questions."""
    if world.scheme is None:
        return
    doubtful = [one for one in ones if one.slug and len(slugs_of(one.item, None)) > 1]
    if len(doubtful) < 4:
        return
    bad = {scheme: sum(_misfits(one, scheme) for one in doubtful) for scheme in SCHEMES}
    here = bad[world.scheme]
    best = min(SCHEMES, key=lambda scheme: (bad[scheme], scheme != world.scheme))
    if here > len(doubtful) / 2 and bad[best] <= len(doubtful) / 4:
        yield Finding(
            "scheme_doubtful",
            f"Of {len(doubtful)} items whose code depends on the scheme, {here} do not fit the {world.scheme} scheme "
            f"and {bad[best]} do not fit the {best} scheme; was --scheme {best} meant?",
        )


def _misfits(one: One, scheme: Scheme) -> bool:
    slugs = slugs_of(one.item, scheme)
    return not slugs or all(misfit(one, slug) for slug in slugs)
