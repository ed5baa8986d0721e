"""Is the item complete and consistent in itself: fields, options, letters, answer, code and difficulty?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rapidfuzz import fuzz

from ml.formats import grasp_codes
from ml.formats.grasp_items import MCQ, OPEN
from ml.questions.lint import words
from ml.questions.lint.findings import Finding, Fix, quoted
from ml.questions.lint.one import One, World
from ml.questions.taxonomy import CATEGORIES, SCHEMES
from ml.text import answers, persons

_CONTEXT = ("clip_file", "clip_duration", "clip_offset", "video_name")
_LEAST_WORDS = 5
_ALIKE = 60.0  # rapidfuzz ratio from which an answer text may be a paraphrase of its option


def check(one: One, world: World) -> Iterator[Finding]:
    yield from _fields(one)
    yield from _format(one, world)
    yield from _category(one, world)
    if one.kind in ("single", "yes_no") and not one.item.open_ended and one.item.options:
        yield from _letters(one)
        yield from _answer(one)


def _fields(one: One) -> Iterator[Finding]:
    item = one.item
    if not item.question.strip():
        yield Finding("missing_field", "The question is empty.", one.at)
    if not (item.answer or "").strip() and not (item.open_ended and (item.answer_text or "").strip()):
        yield Finding("missing_field", "There is no answer.", one.at)
    if not (item.category or "").strip():
        yield Finding("missing_field", "There is no category.", one.at)
    if item.time_range is None:
        yield Finding("missing_field", "There is no time_range.", one.at)
    missing = [name for name in _CONTEXT if getattr(item, name) is None]
    if not item.open_ended and item.answer_text is None:
        missing.append("answer_text")
    if missing:
        yield Finding("missing_context", f"The item has no {', '.join(missing)}.", one.at)


def _format(one: One, world: World) -> Iterator[Finding]:
    item = one.item
    if item.format is not None and item.format not in (MCQ, OPEN):
        yield Finding("unknown_format", f"The format {quoted(item.format)} is neither {MCQ} nor {OPEN}.", one.at)
    if item.open_ended:
        yield from _open(one)
    elif (wanted := _wanted(one, world)) is not None and len(item.options) != wanted:
        found = f"{len(item.options)} option{'s' * (len(item.options) != 1)}"
        yield Finding("option_count", f"The item has {found} instead of {wanted}.", one.at)
    for at, text in enumerate(one.words):
        if not text:
            yield Finding("empty_option", f"Option {_letter(at)} is empty.", one.at)


def _wanted(one: One, world: World) -> int | None:
    """How many options the item should have; None: any number is fine."""
    if one.options_wanted is not None:
        return one.options_wanted
    return {"single": world.option_count, "yes_no": 2, "number": 0}.get(one.kind)


def _open(one: One) -> Iterator[Finding]:
    item = one.item
    if item.options:
        yield Finding("option_count", f"The item is open-ended and yet has {len(item.options)} options.", one.at)
    answer = max((item.answer or "", item.answer_text or ""), key=len)
    if answer.strip() and len(answer.split()) < _LEAST_WORDS:
        yield Finding("short_open_answer", f"The open answer {quoted(answer)} has fewer than five words.", one.at)
    if one.slugs and not any(CATEGORIES[slug].open_ended for slug in one.slugs):
        slug = ", ".join(sorted(one.slugs))
        yield Finding("open_not_allowed", f"The item is open-ended, but {slug} has multiple-choice items only.", one.at)


def _category(one: One, world: World) -> Iterator[Finding]:
    item = one.item
    code = (item.category or "").strip()
    if code and not one.slugs:
        scheme = world.scheme or item.scheme
        where = f"the {scheme} scheme" if scheme else f"any scheme ({', '.join(SCHEMES)})"
        yield Finding("unknown_category", f"The category {quoted(code)} is not a code of {where}.", one.at)
    difficulty = (item.difficulty or "").strip()
    if not difficulty or not one.slugs:
        return
    named = world.scheme or item.scheme
    schemes = [named] if named else list(SCHEMES)
    right = {grasp_codes.difficulty_of(slug, scheme) for scheme in schemes for slug in one.slugs}
    if difficulty not in right:
        only = next(iter(right)) if len(right) == 1 else None
        yield Finding(
            "difficulty_mismatch",
            f"The difficulty is {quoted(difficulty)}, but {code} is {' or '.join(sorted(right))}.",
            one.at,
            Fix("qa.difficulty", only) if only else None,
        )


def _letters(one: One) -> Iterator[Finding]:
    given = one.prefixes
    wanted = [_letter(at) for at in range(len(given))]
    if any(given) and given != wanted:
        shown = ", ".join(letter or "none" for letter in given)
        yield Finding("option_letters", f"The options' letters are {shown} instead of {', '.join(wanted)}.", one.at)


def _letter(at: int) -> str:
    return answers.letter_of(at) if at < 26 else str(at + 1)


def _answer(one: One) -> Iterator[Finding]:
    item = one.item
    answer = (item.answer or "").strip()
    if one.key is None:
        if answer:
            yield Finding("answer_letter", f"The answer {quoted(answer)} is not the letter of an option.", one.at)
        return
    stated = answers.split_option(item.answer_text or "")[1]
    if not stated:
        return
    option = one.words[one.key]
    if words.same(stated, option):
        return
    twin = next((at for at, text in enumerate(one.words) if at != one.key and words.same(stated, text)), None)
    if twin is not None:
        yield _mismatch(one, f"says {quoted(stated)}, which is option {_letter(twin)}", option)
    elif _others_named(stated, option):
        yield _mismatch(one, f"says {quoted(stated)}, naming other persons", option)
    elif not _paraphrase(stated, one.key, one.words):
        yield _mismatch(one, f"says {quoted(stated)}", option)


def _mismatch(one: One, what: str, option: str) -> Finding:
    keyed = f"the keyed option {one.item.answer} says {quoted(option)}"
    return Finding("answer_text_mismatch", f"The answer text {what}; {keyed}.", one.at)


def _others_named(stated: str, option: str) -> bool:
    """The persons (or times) differ; a text that names none at all may still be a paraphrase."""
    said, keyed = persons.in_order(stated), persons.in_order(option)
    if said and keyed and sorted(said) != sorted(keyed):
        return True
    return words.marks(words.tokens(stated)) != words.marks(words.tokens(option)) and not (said or keyed)


def _paraphrase(stated: str, key: int, options: Sequence[str]) -> bool:
    """Nothing else fits the answer's text better, and it shares enough with the keyed option."""
    if words.contrasts(words.tokens(stated)) != words.contrasts(words.tokens(options[key])):
        return False
    said, *offered = (" ".join(words.tokens(text)) for text in (stated, *options))
    scores = [fuzz.token_set_ratio(said, text) for text in offered]
    return scores[key] >= _ALIKE and scores[key] == max(scores)


def whole_set(ones: Sequence[One], world: World) -> Iterator[Finding]:
    """Asks for the scheme where codes of the file depend on it."""
    if world.scheme is not None:
        return
    codes = Counter((one.item.category or "").strip() for one in ones if len(one.slugs) > 1)
    if codes:
        sentence = grasp_codes.question_about(codes).removeprefix("category: ")
        yield Finding(
            "scheme_needed", f"{sum(codes.values())} items have a code that must be asked about: {sentence}", None
        )
