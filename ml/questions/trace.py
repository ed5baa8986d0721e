"""What a proof shows: the ground-truth events of the grounding reward, the reasoning trace, the reviewers' sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ml.questions.facts import Facts
from ml.questions.proof import Proof, evaluate


def gt_events(
    proof: Proof | Mapping[str, Any], facts: Facts, clock: Callable[[int], float] | None = None
) -> list[dict[str, Any]]:
    """Exactly the events the key rests on: [{"source", "persons": [numbers], "start", "end"}], by start.

    `clock`: from source frame to seconds (of the clip, say); without it, source seconds.
    """
    tell = clock or (lambda frame: float(facts.seconds[frame]))
    numbers = {person.id: person.number for person in facts.persons}
    return [
        {
            "source": event.modality,
            "persons": sorted(numbers[person] for person in event.who()),
            "start": round(tell(event.start), 3),
            "end": round(tell(event.end), 3),
        }
        for event in (facts.by_id[id] for id in evaluate(proof, facts).used)
    ]
