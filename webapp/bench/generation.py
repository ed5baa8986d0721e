"""Making questions from what is known of a video: facts -> drafts -> stored questions that no quota refuses.

Slow: imported by workers and commands only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Count

from ml.questions.generate import generate
from ml.questions.letters import Letters
from ml.questions.taxonomy import CATEGORIES
from webapp.accounts.models import User
from webapp.bench import services
from webapp.bench.facts import facts_of
from webapp.bench.models import Question
from webapp.bench.quotas import PLANNED, Room
from webapp.library.models import Project, Video


@dataclass
class Generated:
    """What came of one video: how many questions its events gave, and how many of them are new and kept."""

    drafts: int = 0
    kept: int = 0
    categories: Counter[str] = field(default_factory=Counter)

    def add(self, other: Generated) -> None:
        self.drafts += other.drafts
        self.kept += other.kept
        self.categories.update(other.categories)


def generate_for(
    *,
    video: Video,
    user: User | None,
    seed: int,
    categories: Sequence[str] = (),
    most: int | None = None,
    letters: Letters | None = None,
    hold: Callable[[], None] = lambda: None,
) -> Generated:
    """Make and keep the questions of one video: slow for a large one, so workers only.

    The same seed on the same events gives the same drafts; those the video has already are not kept again. `letters`:
    what keys of the project have so far, kept up to date over several videos. `hold` is called when they are written
    and not yet kept: what it raises, a cancel say, leaves nothing of this video. Raises Refused.
    """
    wanted = with_room(video, categories)
    if not wanted:
        return Generated()
    facts = facts_of(video)
    letters = letters or letters_of(video.project)
    drafts = generate(facts, seed=seed, categories=wanted, most=most, letters=letters) if facts.events else []
    told = {"generator": {"seed": seed, "categories": sorted(categories), "most": most}}
    with transaction.atomic():
        made = services.create_questions(video=video, drafts=drafts, user=user, provenance=told)
        hold()
    return Generated(len(drafts), len(made), Counter(question.category for question in made))


def with_room(video: Video, categories: Sequence[str]) -> list[str]:
    """Those of the categories (all by default) that quotas have room for in this video."""
    room = Room.of(services.bench_of(video.project), PLANNED)
    source = video.source_recording
    return [slug for slug in categories or CATEGORIES if room.has((slug, source, CATEGORIES[slug].difficulty, ""))]


def letters_of(project: Project) -> Letters:
    """How often each category of the project has each letter as key: what comes next balances them."""
    found = Question.objects.filter(project=project, state__in=PLANNED).exclude(letter="")
    counts = found.values_list("category", "letter").annotate(n=Count("*")).order_by()
    return Letters(Counter({(category, letter): n for category, letter, n in counts}))
