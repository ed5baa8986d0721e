"""Category codes of GRASP files to slugs and back, by a named scheme.

The codes T3, T4, T5, G4, G5, G6, J2 and J3 mean different categories in different schemes. Without a scheme such a code
is a question to whoever knows the file, never a guess. A category that is already a slug needs no scheme. In the data
scheme the joint codes C1-C4 are reported as J1-J4, so J is read as C when that scheme is named.
"""

from __future__ import annotations

from collections.abc import Iterable

from ml.formats.errors import FormatError
from ml.questions.taxonomy import CATEGORIES, SCHEMES, Scheme

FLAG = "--scheme data|figure|page"
_SLUGS: dict[str, dict[str, str]] = {
    scheme: {one.code(scheme): slug for slug, one in CATEGORIES.items()} for scheme in SCHEMES
}
_SLUGS["data"] |= {code.replace("C", "J"): slug for code, slug in _SLUGS["data"].items() if code.startswith("C")}


def meanings(code: str) -> dict[str, str]:
    """Slug by scheme for every scheme that has the code; J codes of the data scheme only where it is named."""
    return {scheme: slugs[code] for scheme, slugs in _SLUGS.items()
            if code in slugs and not (scheme == "data" and code.startswith("J"))}  # fmt: skip


def is_ambiguous(code: str) -> bool:
    """The code means different categories in different schemes."""
    return len(set(meanings(code).values())) > 1


def slug_of(code: str, scheme: Scheme | None) -> str:
    """The slug of a code (or of a slug). Raises FormatError: unknown, or ambiguous without a scheme."""
    if code in CATEGORIES:
        return code
    if scheme is not None:
        if code not in _SLUGS[scheme]:
            raise FormatError(f"category: {code!r} is not a code of the {scheme} scheme.")
        return _SLUGS[scheme][code]
    found = meanings(code)
    if not found:
        raise FormatError(f"category: {code!r} is not a code of any scheme ({', '.join(SCHEMES)}).")
    if is_ambiguous(code):
        raise FormatError(question_about([code]))
    return next(iter(found.values()))


def question_about(codes: Iterable[str]) -> str:
    """The sentence that asks for the scheme, naming what the first ambiguous code could mean and the option."""
    doubtful = sorted({code for code in codes if code not in CATEGORIES and is_ambiguous(code)})
    first = doubtful[0]
    could = ", ".join(f"{slug} ({scheme})" for scheme, slug in meanings(first).items())
    listed = ", ".join(doubtful)
    depend = "depend" if len(doubtful) > 1 else "depends"
    return f"category: {listed} {depend} on the numbering scheme, {first} may be {could}; name it with {FLAG}."


def slugs_of(codes: Iterable[str], scheme: Scheme | None) -> dict[str, str]:
    """Slug by code for all codes of a file. Raises FormatError; without a scheme one ambiguous code is enough."""
    listed = list(dict.fromkeys(codes))
    if scheme is None and any(code not in CATEGORIES and is_ambiguous(code) for code in listed):
        raise FormatError(question_about(listed))
    return {code: slug_of(code, scheme) for code in listed}


def code_of(slug: str, scheme: Scheme) -> str:
    """The code a slug is exported as. Raises FormatError for a slug that is none."""
    if slug not in CATEGORIES:
        raise FormatError(f"category: there is no category {slug!r}.")
    return CATEGORIES[slug].code(scheme)


def difficulty_of(slug: str, scheme: Scheme) -> str:
    """The difficulty the scheme gives the category; the page prints none, so the data scheme's."""
    one = CATEGORIES[slug]
    return one.figure_difficulty if scheme == "figure" else one.difficulty
