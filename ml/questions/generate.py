"""Questions from facts: every template's ideas, each with computed key, proven distractors and a proof that stands.

An idea becomes a draft when exactly one of its answers is true (or one is picked where several may be) and enough
others are false, all of it within one step of every boundary and inside coverage. Categories take turns, so that a
small number of drafts is a mixed one. Nothing is asked twice: no two drafts of a category ask the same of the same
events, and none about the same persons and times repeats another's words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from random import Random

from ml.questions import templates
from ml.questions.draft import Draft
from ml.questions.drafting import Asked, Drafter
from ml.questions.facts import Facts
from ml.questions.idea import REGISTRY
from ml.questions.letters import Letters
from ml.questions.scene import Scene
from ml.questions.taxonomy import CATEGORIES

GRASP_KINDS = ("single", "open")
assert templates.gaze  # importing them registers them


def generate(
    facts: Facts,
    *,
    seed: int,
    categories: Collection[str] | None = None,
    most: int | None = None,
    letters: Letters | None = None,
    kinds: Collection[str] = GRASP_KINDS,
) -> list[Draft]:
    """Drafts for one video, the same for the same facts and seed.

    `categories`: slugs, all by default. `most`: at most this many drafts in all, spread over the categories. `letters`:
    the letters of keys given so far, updated in place, so that several videos balance together. `kinds`: what GRASP has
    by default; yes_no, number and multiple on request, for other benchmarks.
    """
    letters, asked = letters or Letters(), Asked()
    wanted = [slug for slug in CATEGORIES if categories is None or slug in categories]
    sources = {slug: _drafts(facts, slug, seed, letters, asked, kinds) for slug in wanted}
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
    facts: Facts, category: str, seed: int, letters: Letters, asked: Asked, kinds: Collection[str]
) -> Iterator[Draft]:
    """The category's drafts, its templates taking turns."""
    rng = Random(hashlib.sha256(f"{seed}/{category}".encode()).digest())
    scene = Scene(facts, rng)
    drafter = Drafter(scene, category, letters, asked)
    own = [t for t in sorted(REGISTRY.values(), key=lambda t: t.name) if t.category == category and t.kind in kinds]
    streams = [(template.name, template.make(scene)) for template in own]
    rng.shuffle(streams)
    while streams:
        for stream in list(streams):
            name, ideas = stream
            draft = next((made for idea in ideas if (made := drafter.draft(name, idea)) is not None), None)
            if draft is None:
                streams.remove(stream)
            else:
                yield draft
