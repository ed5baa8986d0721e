"""The Social Grounding Reward: does the reasoning name who takes part in the events behind the answer?

Three forms, each under its own name, since paper and released code differ; the facts are those of the GRASP paper
(arXiv 2605.15764) and its released reward. In all of them Q are the persons the question names, E those of one
ground-truth event, its targets E \\ Q. An item without any target has no value (None): whatever a rollout names, it
could not score. The released code gives 0 there, which in a group comes to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ml.rewards.reply import MODALITIES, Segment
from ml.rewards.rows import Row
from ml.text import persons

LEAST_TIOU = 0.3
UNTIMED = 0.5  # credit for the right person without a stated time


def grounding_tag(row: Row) -> float:
    """1 when any gaze or gesture block is closed, else 0. Range {0, 1}. Source: GRASP, "has_grounding".

    Known hole: an empty block counts, and so does a block full of names.
    """
    return float(bool(row.reply.blocks))


def sgr_release(row: Row) -> float | None:
    """0.7 R + 0.3 P as GRASP's code has it. Range [0, 1].

    Mentions are "Person" + blanks + number and capital "P" + number inside closed blocks. R: mean over events of the
    share of its targets named in its modality's blocks. P: mean, over modalities with both mentions and targets, of the
    share of novel mentions (those the question does not name) that are targets there. 0 without any block.

    Known holes: names in the other modality's block cost nothing where that modality has no target; names outside the
    blocks are free; plural and lower-case names are missed; times are not looked at; naming everybody costs almost
    nothing.
    """
    found = _recall_and_precision(row, persons.released)
    return None if found is None else 0.7 * found[0] + 0.3 * found[1]


def sgr_paper(row: Row) -> float | None:
    """(1 + R) · P as the GRASP paper prints it, on the mentions of `sgr_release`. Range [0, 2].

    That Q is taken out is our reading of the paper's figure. Known holes: those of the released form but the last.
    """
    found = _recall_and_precision(row, persons.released)
    return None if found is None else (1.0 + found[0]) * found[1]


def sgr_strict(row: Row) -> float | None:
    """R · P', ours. Range [0, 1].

    A mention is a pair of person and modality, read from any form ("Persons 1 and 2", "person 3"), in any closed block.
    R: mean over events of the mean credit of its targets. A target has credit 1 when a sentence of its modality names
    it with a time that meets the event at tIoU >= 0.3, and less in proportion when the sentences that name it with a
    time state more times than meet an event of theirs; 1/2 when it is named without any span (or with a moment inside
    the event); 0 when every time stated with it misses. An event without times gives 1 for its name.
    P' = max(0, (P - p) / (1 - p)): P is the share of all novel mentions that are targets, over all blocks; p is what P
    would be for somebody who names every visible person in the modalities asked for, so that naming everyone is worth
    nothing. Where everyone visible is a target, P' is P.

    Known holes: names outside the blocks are free; roles are not checked; who is visible must be in the row (without it
    p is 0, and naming everyone pays a little).
    """
    targets = row.held.spans.keys()
    if not targets:
        return None
    asked = row.asked
    named = {(segment.modality, person) for segment in row.reply.segments for person in segment.persons - asked}
    right = len(named & targets)
    if not right:
        return 0.0
    precision = right / len(named)
    chance = _precision_of_naming_everyone(row)
    if chance < 1.0:
        precision = max(0.0, (precision - chance) / (1.0 - chance))
    return _timed_recall(row) * precision if precision else 0.0


def _precision_of_naming_everyone(row: Row) -> float:
    if row.visible is None:
        return 0.0
    targets = row.held.spans.keys()
    modalities = {modality for modality, _ in targets}
    everyone = row.visible.union([person for _, person in targets]) - row.asked
    return len(targets) / (len(modalities) * len(everyone))


def _timed_recall(row: Row) -> float:
    """Mean over events of the mean credit of their targets."""
    spans = row.held.spans
    said: dict[tuple[str, int], list[Segment]] = {pair: [] for pair in spans}
    for segment in row.reply.segments:
        for person in segment.persons:
            if (segment.modality, person) in said:
                said[segment.modality, person].append(segment)
    total = 0.0
    for event, novel in row.targets:
        pairs = [(event.modality, person) for person in novel]
        total += sum([credit(event.span, said[pair], spans[pair]) for pair in pairs]) / len(pairs)
    return total / len(row.targets)


def credit(span: tuple[float, float] | None, said: list[Segment], spans: list[tuple[float, float] | None]) -> float:
    """What one target earns an event of the span: `said` are the sentences of its modality that name it, `spans` all
    events of that modality it takes part in."""
    if not said:
        return 0.0
    if span is None:
        return 1.0
    stated = [segment.stated for segment in said]
    with_span = [one.spans for one in stated if one.spans]
    meets = [overlap(one, span) >= LEAST_TIOU for one in with_span]
    if any(meets):
        others = [one for one in spans if one is not None and one != span]
        for at, one in enumerate(with_span):
            meets[at] = meets[at] or any(overlap(one, event) >= LEAST_TIOU for event in others)
        return sum(meets) / len(meets)
    untimed = not with_span and any(not one.points for one in stated)
    inside = any(span[0] <= point <= span[1] for one in stated for point in one.points)
    return UNTIMED if untimed or inside else 0.0


def overlap(stated: Sequence[tuple[float, float]], span: tuple[float, float]) -> float:
    """tIoU of the union of the stated spans and one span, in seconds; two moments that agree have 1."""
    start, end = span
    shared = total = 0.0
    reach = float("-inf")
    for low, high in stated if len(stated) == 1 else sorted(stated):
        low = max(low, reach)
        if high > low:
            total += high - low
            shared += max(0.0, min(high, end) - max(low, start))
        reach = max(reach, high)
    union = total + (end - start) - shared
    if union <= 0:
        return float(any(low == start for low, _ in stated))
    return shared / union


def _recall_and_precision(row: Row, read: Callable[[str], frozenset[int]]) -> tuple[float, float] | None:
    """R and P of the released and the paper's form; None without targets, zeros without blocks."""
    if not row.targets:
        return None
    mentioned = {
        modality: frozenset().union(*(read(b.content) for b in row.reply.blocks if b.name == modality))
        for modality in MODALITIES
    }
    recall = sum(len(mentioned[event.modality] & novel) / len(novel) for event, novel in row.targets) / len(row.targets)
    shares = []
    for modality in MODALITIES:
        targets = frozenset().union(*(novel for event, novel in row.targets if event.modality == modality))
        novel = mentioned[modality] - row.asked
        if novel and targets:
            shares.append(len(novel & targets) / len(novel))
    return recall, sum(shares) / len(shares) if shares else 0.0
