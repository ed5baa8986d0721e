"""Making questions from what is known of a video: facts -> drafts -> stored questions that no quota refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webapp.accounts.models import User
from webapp.bench import services
from webapp.bench.facts import facts_of
from webapp.bench.models import Question
from webapp.bench.quotas import PLANNED, Room
from webapp.library.models import Video


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


def drafts_of(
    video: Video, *, seed: int, categories: Sequence[str] = (), most: int | None = None, letters: Any = None
) -> list[Any]:
    """What `ml.questions.generate` makes of the video's facts. Slow for a large video: workers and commands."""
    from ml.questions.generate import generate

    facts = facts_of(video)
    if not facts.events:
        return []
    return list(generate(facts, seed=seed, categories=list(categories) or None, most=most, letters=letters))


def generate_for(
    *, video: Video, user: User | None, seed: int, categories: Sequence[str] = (), most: int | None = None
) -> Generated:
    """Make and keep the questions of one video. The same seed on the same events gives the same drafts; those the video
    has already are not kept again. Raises Refused.
    """
    wanted = with_room(video, categories)
    if wanted is not None and not wanted:
        return Generated()
    drafts = drafts_of(video, seed=seed, categories=wanted or categories, most=most, letters=letters_of(video))
    parameters = {"seed": seed, "categories": sorted(categories), "most": most}
    made = services.create_questions(video=video, drafts=drafts, user=user, provenance={"generator": parameters})
    return Generated(len(drafts), len(made), Counter(question.category for question in made))


def with_room(video: Video, categories: Sequence[str]) -> list[str] | None:
    """The categories of these that quotas have room for in this video, whatever the letter; None without quotas."""
    from ml.questions.taxonomy import CATEGORIES

    bench = services.bench_of(video.project)
    if not bench.quotas:
        return None
    room = Room.of(bench, PLANNED)
    return [
        slug
        for slug in categories or list(CATEGORIES)
        if any(room.has((slug, video.source_recording, CATEGORIES[slug].difficulty, letter)) for letter in "ABCD")
    ]


def letters_of(video: Video) -> Mapping[str, int]:
    """How many questions of the project have each letter as key: the next ones balance them."""
    found = Question.objects.filter(project=video.project_id, state__in=PLANNED).exclude(letter="")
    return Counter(found.values_list("letter", flat=True))
