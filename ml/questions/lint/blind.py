"""Can the set be answered without its videos?

Guessers that see question and options only are scored against chance: the longest and the shortest option, the lowest
person number, the letter most keys of the category have, the option text that most often is the key when it is offered
(both without the item itself), where configured an embedding (the option most like the question) and a model that is
asked. A guesser beats chance when it does by 5 points and p < 0.001 over the number of guessers (one-sided binomial).

The control by permuted identities asks the model again with person numbers exchanged all through the item. A model that
was right because of the numbers ("Person 1 usually is") then falls back; one that was right because of the wording
stays.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256

from ml.questions.lint import words
from ml.questions.lint.balance import at_least
from ml.questions.lint.findings import Finding
from ml.questions.lint.one import Asker, Embedder, One, World
from ml.text import persons

LEVEL = 0.001
MARGIN = 0.05
FEWEST = 20
MOST_EMBEDDED = 400  # items an embedding is made of: a sample tells as much

Guess = list[list[int]]  # for each item the positions the guesser cannot choose between; empty: it says nothing


def check(ones: Sequence[One], world: World) -> Iterator[Finding]:
    keyed = [one for one in ones if one.key is not None and len(one.item.options) == world.option_count]
    yield from _missing(world)
    if len(keyed) < FEWEST:
        return
    for name, guess in _GUESSERS.items():
        yield from _score(f"the {name}", keyed, guess(keyed))
    if world.embedder is not None:
        sample = sampled(keyed, MOST_EMBEDDED)
        yield from _score(f"the option most like the question ({world.embedder.name})", sample,
                          embedded(sample, world.embedder))  # fmt: skip
    if world.asker is not None:
        yield from _asked(sampled(keyed, world.ask_most), world.asker)


def _missing(world: World) -> Iterator[Finding]:
    if world.embedder is None:
        yield Finding("not_run", "Likeness of question and options was not run: no embedding model configured.")
    if world.asker is None:
        yield Finding(
            "not_run", "No model was asked without video, and identities were not permuted: no model configured."
        )


def sampled(ones: Sequence[One], most: int) -> list[One]:
    """At most that many, the same ones every time, in their order."""
    if len(ones) <= most:
        return list(ones)
    kept = sorted(ones, key=lambda one: sha256(f"{one.at} {one.item.question}".encode()).digest())[:most]
    return sorted(kept, key=lambda one: one.at)


def _score(name: str, ones: Sequence[One], guess: Guess) -> Iterator[Finding]:
    told = [(one, picks) for one, picks in zip(ones, guess, strict=True) if picks]
    if len(told) < FEWEST:
        return
    hits = sum((one.key in picks) / len(picks) for one, picks in told)
    chance = sum(1 / len(one.item.options) for one, _ in told)
    count = len(told)
    p = at_least(int(hits), count, chance / count)
    if hits - chance > MARGIN * count and p < LEVEL / (len(_GUESSERS) + 2):
        yield Finding(
            "answerable_without_video",
            f"Guessing {name} is right in {hits:.0f} of {count} items ({hits / count:.0%}), chance is "
            f"{chance / count:.0%} (binomial p = {p:.2g}).",
        )


# --------------------------------------------------------------------------------------------------------- guessers


def _extreme(pick: Callable[[list[float]], float], value: Callable[[str], float | None]) -> Callable[..., Guess]:
    def guess(ones: Sequence[One]) -> Guess:
        found: Guess = []
        for one in ones:
            values = [value(text) for text in one.words]
            known = [v for v in values if v is not None]
            if not known or len(set(values)) == 1:
                found.append([])
                continue
            best = pick(known)
            found.append([at for at, v in enumerate(values) if v == best])
        return found

    return guess


def _number(text: str) -> float | None:
    named = persons.in_order(text)
    return float(named[0]) if len(named) == 1 else None


def _letter(ones: Sequence[One]) -> Guess:
    """The letter most other keys of the same category have."""
    counts: dict[str | None, Counter[int]] = defaultdict(Counter)
    for one in ones:
        counts[one.item.category][one.key or 0] += 1
    found: Guess = []
    for one in ones:
        others = counts[one.item.category] - Counter({one.key or 0: 1})
        best = max(others.values(), default=0)
        found.append([at for at, count in others.items() if count == best] if best else [])
    return found


def _text(ones: Sequence[One]) -> Guess:
    """The option whose text most often is the key where it is offered, in other items; persons are all alike."""
    shapes = [[_shape(text) for text in one.words] for one in ones]
    offered: Counter[tuple[str | None, words.Tokens]] = Counter()
    keyed: Counter[tuple[str | None, words.Tokens]] = Counter()
    for one, shape in zip(ones, shapes, strict=True):
        offered.update((one.item.category, text) for text in shape)
        keyed[one.item.category, shape[one.key or 0]] += 1
    found: Guess = []
    for one, shape in zip(ones, shapes, strict=True):
        own = shape[one.key or 0]
        scores = []
        for text in shape:
            times = offered[one.item.category, text] - shape.count(text)
            hits = keyed[one.item.category, text] - (text == own)
            scores.append((hits + 1 / len(shape)) / (times + 1))
        best = max(scores)
        found.append([] if len(set(shape)) == 1 else [at for at, s in enumerate(scores) if s >= best - 1e-12])
    return found


def _shape(text: str) -> words.Tokens:
    return tuple("@" if token[0] == "@" else token for token in words.tokens(text))


_GUESSERS: dict[str, Callable[[Sequence[One]], Guess]] = {
    "longest option": _extreme(max, lambda text: float(len(text))),
    "shortest option": _extreme(min, lambda text: float(len(text))),
    "lowest person number": _extreme(min, _number),
    "letter most common in the category": _letter,
    "option text that is most often the key": _text,
}


def embedded(ones: Sequence[One], embedder: Embedder) -> Guess:
    """The option whose vector lies nearest to the question's."""
    texts = list(dict.fromkeys(text for one in ones for text in (one.item.question, *one.words)))
    vector = dict(zip(texts, embedder.vectors(texts), strict=True))
    found: Guess = []
    for one in ones:
        scores = [float(vector[one.item.question] @ vector[text]) for text in one.words]
        found.append([at for at, score in enumerate(scores) if score == max(scores)])
    return found


# ---------------------------------------------------------------------------------------------------- a model asked


def permuted(one: One) -> tuple[str, list[str]]:
    """Question and options with every person's number moved on to the next one's; the keyed place stays."""
    numbers = sorted(one.everybody)
    new = dict(zip(numbers, [*numbers[1:], *numbers[:1]], strict=True))
    return persons.renumbered(one.item.question, new), [persons.renumbered(text, new) for text in one.words]


def _asked(ones: Sequence[One], asker: Asker) -> Iterator[Finding]:
    plain = [asker.letter(one.item.question, one.words) for one in ones]
    yield from _score(f"what {asker.name} answers without video", ones, [_place(letter) for letter in plain])
    several = [at for at, one in enumerate(ones) if len(one.everybody) > 1]
    if len(several) < FEWEST:
        yield Finding("not_run", f"Identities were not permuted: only {len(several)} items name several persons.")
        return
    again = [asker.letter(*permuted(ones[at])) for at in several]
    yield from _compared(
        asker.name,
        [(_right(ones[at], plain[at]), _right(ones[at], new)) for at, new in zip(several, again, strict=True)],
    )


def _place(letter: str | None) -> list[int]:
    return [ord(letter) - ord("A")] if letter else []


def _right(one: One, letter: str | None) -> bool:
    return one.key in _place(letter)


def _compared(name: str, pairs: Sequence[tuple[bool, bool]]) -> Iterator[Finding]:
    """McNemar, exact: items right only as they stand against items right only once permuted."""
    lost, gained = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    if lost > gained and at_least(lost, lost + gained, 0.5) < LEVEL:
        yield Finding(
            "identity_prior",
            f"Without video {name} is right in {sum(a for a, _ in pairs)} of {len(pairs)} items, with permuted person "
            f"numbers in {sum(b for _, b in pairs)}: the numbers themselves give keys away.",
        )
