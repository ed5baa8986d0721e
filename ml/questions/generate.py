"""Questions from facts: every template's ideas, each with computed key, proven distractors and a proof that stands.

An idea becomes a draft when exactly one of its answers is true (or one is picked where several may be) and enough
others are false, all of it within one step of every boundary and inside coverage. Categories take turns, so that a
small number of drafts is a mixed one. Nothing is asked twice: no two drafts of a category ask the same of the same
events, and none repeats another's words (Jaccard of words over `ALIKE`, persons and times being words).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from random import Random
from typing import Any

from ml.questions import slots
from ml.questions.draft import Draft
from ml.questions.facts import Facts, Span
from ml.questions.grammar import expr, value
from ml.questions.idea import REGISTRY, Choice, Idea
from ml.questions.letters import OFFERED, Letters
from ml.questions.proof import evaluate, names
from ml.questions.reducing import Truth, holds, known
from ml.questions.scene import Scene
from ml.questions.support import support
from ml.questions.table import table_of
from ml.questions.taxonomy import CATEGORIES
from ml.questions.templates import gaze, gesture, joint, opened
from ml.questions.trace import gt_events, trace

OPTIONS = 4
ALIKE = 0.8
LONGEST_OPTION = 15  # words
_ALL = (gaze, gesture, joint, opened)


def generate(
    facts: Facts,
    *,
    seed: int,
    categories: Collection[str] | None = None,
    most: int | None = None,
    letters: Letters | None = None,
) -> list[Draft]:
    """Drafts for one video, the same for the same facts and seed.

    `categories`: slugs, all by default. `most`: at most this many drafts in all, spread over the categories. `letters`:
    the letters of keys given so far, updated in place, so that several videos balance together.
    """
    letters = letters or Letters()
    wanted = [slug for slug in CATEGORIES if categories is None or slug in categories]
    asked: set[Any] = set()
    taken: list[frozenset[str]] = []
    sources = {slug: _drafts(facts, slug, seed, letters, asked, taken) for slug in wanted}
    drafts: list[Draft] = []
    while sources and (most is None or len(drafts) < most):
        for slug in list(sources):
            draft = next(sources[slug], None)
            if draft is None:
                del sources[slug]
            else:
                drafts.append(draft)
            if most is not None and len(drafts) >= most:
                break
    return drafts


def _drafts(
    facts: Facts, category: str, seed: int, letters: Letters, asked: set[Any], taken: list[frozenset[str]]
) -> Iterator[Draft]:
    """The category's drafts, its templates taking turns."""
    rng = Random(hashlib.sha256(f"{seed}/{category}".encode()).digest())
    scene = Scene(facts, rng)
    streams = [(name, make(scene)) for name, (of, make) in sorted(REGISTRY.items()) if of == category]
    rng.shuffle(streams)
    while streams:
        for stream in list(streams):
            name, ideas = stream
            for idea in ideas:
                draft = draft_of(scene, category, name, idea, letters, asked, taken)
                if draft is not None:
                    yield draft
                    break
            else:
                streams.remove(stream)


def draft_of(
    scene: Scene,
    category: str,
    name: str,
    idea: Idea,
    letters: Letters,
    asked: set[Any],
    taken: list[frozenset[str]],
) -> Draft | None:
    """The draft of an idea, or None where it cannot be proven or was asked before."""
    facts, rng = scene.facts, scene.rng
    a, b = max(0, idea.span[0]), min(facts.frames, idea.span[1])
    wording = words_capital(rng.choice(idea.wordings))
    if not scene.sees((a, b), slots.persons_in(wording)):
        return None
    chosen = _sentences(idea) if idea.kind == "open" else _options(scene, idea, (a, b), name, letters)
    if chosen is None:
        return None
    key, others = chosen
    used = support(expr(idea.ask), [value(c.value, expr(idea.ask).kind, "key") for c in key], table_of(facts, 0))
    a = min([a, *(facts.by_id[id].start for id in used)])  # the clip shows whole what the key rests on
    b = max([b, *(facts.by_id[id].end for id in used)])
    mark = (category, name, used or (a, b), tuple(sorted(slots.persons_in(wording))))
    if mark in asked or _repeats(scene, wording, taken):
        return None
    single = idea.kind == "single"
    position = letters.draw(category, rng) if single else 0
    listed = [*others[:position], *key, *others[position:]] if single else key
    rows = [{"id": str(at), "text": c.text, "value": c.value} for at, c in enumerate(listed, 1)]
    proof = _proof(facts, idea, wording, rows, [str(position + 1)] if single else [row["id"] for row in rows], (a, b))
    outcome = evaluate(proof, facts)
    if not outcome.stands:
        return None
    proof["events"] = list(outcome.used)
    asked.add(mark)
    taken.append(_words(scene, wording))
    letters.took(name, key[0].value)
    answer = " ".join(text for text, _ in idea.sentences) if idea.kind == "open" else key[0].text
    return Draft(
        category=category,
        kind=idea.kind,
        text=wording,
        options=rows if single else [],
        key=[proof["key"][0]] if single else [answer],
        proof=proof,
        reasoning=trace(proof, facts, answer, [c.text for c in others]),
        start=a,
        end=b,
        difficulty=CATEGORIES[category].difficulty,
        template=name,
        gt_events=gt_events(proof, facts),
    )


def _sentences(idea: Idea) -> tuple[list[Choice], list[Choice]]:
    """Of an open item: all that it claims is key."""
    return [Choice(text, {"claim": claim}) for text, claims in idea.sentences for claim in claims], []


def _options(
    scene: Scene, idea: Idea, window: Span, name: str, letters: Letters
) -> tuple[list[Choice], list[Choice]] | None:
    """The key and three proven distractors, drawn with the plausible ones first.

    None where there are not enough, or where the template has had this key too often.
    """
    rng = scene.rng
    truths = _truths(scene.facts, idea)
    named = [c for c in idea.choices if scene.sees(window, slots.persons_in(c.text)) and _short(c.text)]
    true = [c for c in named if truths[c.text] is True]
    false = [c for c in named if truths[c.text] is False]
    if not true or (len(true) > 1 and not idea.several) or len(false) < OPTIONS - 1:
        return None
    if idea.whole and len(true) + len(false) < len(idea.choices):
        return None
    key = rng.choice(true)
    if not letters.allows(name, key.value, max(OPTIONS, len(idea.choices)), rng):
        return None
    offered = -1.0 if rng.random() < OFFERED else 9.0
    order = {c.text: offered if c.value is None else c.rank + 1.5 * rng.random() for c in false}
    others = sorted(false, key=lambda c: order[c.text])[: OPTIONS - 1]
    rng.shuffle(others)
    return [key], others


def _truths(facts: Facts, idea: Idea) -> dict[str, Truth]:
    """What each answer is within one step of every boundary."""
    table = table_of(facts, facts.step)
    ask = expr(idea.ask)
    found = known(ask, table)
    return {c.text: holds(found, value(c.value, ask.kind, "choice"), table) for c in idea.choices}


def _proof(
    facts: Facts, idea: Idea, wording: str, rows: list[dict[str, Any]], key: list[str], window: Span
) -> dict[str, Any]:
    persons = slots.persons_in(" ".join([wording, *(row["text"] for row in rows)]))
    return {
        "v": 1,
        "set": facts.set,
        "revision": facts.revision,
        "persons": persons,
        "span": list(window),
        "ask": idea.ask,
        "options": [{"id": row["id"], "value": row["value"]} for row in rows],
        "key": key,
        "events": [],
    }


def words_capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _short(text: str) -> bool:
    return len(slots.render(text, _Printed(), float).split()) <= LONGEST_OPTION


class _Printed(Mapping[str, str]):
    """Every person printed with two words, which is all that counting words needs."""

    def __getitem__(self, id: str) -> str:
        return "Person 1"

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __contains__(self, id: object) -> bool:
        return True


def _words(scene: Scene, wording: str) -> frozenset[str]:
    """The words a reader sees, persons and times to the second being single words."""
    printed = {id: name.replace(" ", "") for id, name in names(scene.facts).items()}
    text = slots.render(wording, printed, lambda frame: round(float(scene.facts.seconds[frame])))
    return frozenset(text.casefold().replace(".0 s", "s").strip("?.").split())


def _repeats(scene: Scene, wording: str, taken: list[frozenset[str]]) -> bool:
    own = _words(scene, wording)
    return any(len(own & other) > ALIKE * len(own | other) for other in taken)
