"""Controls: the benchmark with one thing taken away, to see whether the answers rest on it. Seeded; the keys stay.

text-only        no picture is shown; what is still right was guessed from the words
shuffled-video   every item is shown the video of another recording
shuffled-frames  the item's own pictures in another order, while the times stay: what is still right needs no order
permuted-tags    persons change numbers among themselves: in the question, the options, the dialogue, the true events,
                 who is visible and the map of printed tags. Nobody keeps his number where there are two at least.
                 Tags that are already painted into a clip are not repainted: then the question asks about somebody
                 else, and an accuracy that does not fall shows that names were not looked at. Where the clip is drawn
                 again by the item's new map, question and picture agree and the accuracy should stay.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ml.evaluation.bench import Bench, Item
from ml.evaluation.frames import Look
from ml.formats.errors import FormatError
from ml.rewards.rows import Truth
from ml.text import persons

TEXT_ONLY, SHUFFLED_VIDEO, SHUFFLED_FRAMES, PERMUTED_TAGS = CONTROLS = (
    "text-only", "shuffled-video", "shuffled-frames", "permuted-tags",
)  # fmt: skip
_OTHER_NAMES = re.compile(r"player[ _]?\d+", re.IGNORECASE)


def applied(bench: Bench, name: str, seed: int) -> Bench:
    """The benchmark under a control. Raises FormatError: no such control, or it cannot be made of this benchmark."""
    if name not in CONTROLS:
        raise FormatError(f"There is no control {name!r}; there are {', '.join(CONTROLS)}.")
    told: dict[str, object] = {"name": name, "seed": seed, "of": bench.sha256()}
    items = bench.items
    if name == SHUFFLED_VIDEO:
        items = _other_videos(bench, seed)
    elif name == PERMUTED_TAGS:
        items = tuple(permuted(item, _cycle(item, seed)) for item in bench.items)
        told["unchanged"] = sum(a == b for a, b in zip(items, bench.items, strict=True))
        if told["unchanged"] == len(items):
            raise FormatError(f"No item of {bench.name} names two persons whose numbers could be exchanged.")
    return replace(bench, items=items, control=told)


def look(name: str | None, plain: Look, seed: int) -> Look | None:
    """How clips are shown under a control; None where they are not."""
    if name == TEXT_ONLY:
        return None
    return replace(plain, shuffled=seed) if name == SHUFFLED_FRAMES else plain


def _other_videos(bench: Bench, seed: int) -> tuple[Item, ...]:
    """Each item with the video of another recording; every video as often as before, where that can be.

    In an order by recording, each item takes the video that lies as far ahead as the largest recording has items: never
    one of its own. Where one recording has more than half of all items, its items draw from the others' instead.
    """
    rng = np.random.default_rng(seed)
    recordings = sorted({item.recording for item in bench.items})
    if len(recordings) < 2:
        raise FormatError(f"All items of {bench.name} are of one recording: there is no other video to show.")
    place = {recordings[k]: at for at, k in enumerate(rng.permutation(len(recordings)).tolist())}
    tie = rng.permutation(len(bench.items))
    order = sorted(range(len(bench.items)), key=lambda k: (place[bench.items[k].recording], tie[k]))
    most = max(np.bincount([place[item.recording] for item in bench.items]).tolist())
    donor = {k: order[(at + most) % len(order)] for at, k in enumerate(order)}
    items = list(bench.items)
    for k, item in enumerate(bench.items):
        other = bench.items[donor[k]]
        if other.recording == item.recording:
            elsewhere = [one for one in bench.items if one.recording != item.recording]
            other = elsewhere[int(rng.integers(len(elsewhere)))]
        items[k] = replace(item, video=other.video, start=other.start, end=other.end, rate=other.rate)
    return tuple(items)


def _cycle(item: Item, seed: int) -> dict[int, int]:
    """Old number -> new one, for everybody there is in the item: one cycle through all, so that nobody stays."""
    everybody = sorted(_everybody(item))
    if len(everybody) < 2:
        return {}
    digest = hashlib.sha256(f"{seed}:{item.id}".encode()).digest()
    order = np.random.default_rng(int.from_bytes(digest[:8], "big")).permutation(everybody).tolist()
    return dict(zip(order, [*order[1:], order[0]], strict=True))


def _everybody(item: Item) -> set[int]:
    told = [item.question, *item.options, *item.context, item.answer_text]
    for words in told:
        other = _OTHER_NAMES.search(words)
        if other:
            raise FormatError(f"The item {item.id} says {other[0]!r}; only Person 2 and P2 can be renumbered.")
    named = frozenset().union(*(persons.named(words) for words in told))
    seen = item.visible or frozenset()
    taking_part = frozenset().union(*(event.persons for event in item.events))
    return set(named | seen | taking_part | {tag for tag, _ in item.person_map})


def permuted(item: Item, new: Mapping[int, int]) -> Item:
    """The item with every person's number replaced, wherever it stands."""
    if not new:
        return item

    def mapped(numbers: frozenset[int]) -> frozenset[int]:
        return frozenset(new[number] for number in numbers)

    return replace(
        item,
        question=renamed(item.question, new),
        options=tuple(renamed(option, new) for option in item.options),
        context=tuple(renamed(turn, new) for turn in item.context),
        answer_text=renamed(item.answer_text, new),
        events=tuple(Truth(event.modality, mapped(event.persons), event.span) for event in item.events),
        visible=None if item.visible is None else mapped(item.visible),
        person_map=tuple(sorted((new[tag], person) for tag, person in item.person_map)),
    )


def renamed(text: str, new: Mapping[int, int]) -> str:
    """The text with other numbers; a range ("Persons 1 to 3") becomes a list, since its numbers no longer follow."""
    pieces, at = [], 0
    for mention in persons.mentions(text):
        words = text[mention.start : mention.end]
        whole = len(re.findall(r"[0-9]+", words)) == len(mention.numbers)
        swapped = [new.get(number, number) for number in mention.numbers]
        pieces += [text[at : mention.start], persons.renumbered(words, dict(new)) if whole else persons.listed(swapped)]
        at = mention.end
    return "".join([*pieces, text[at:]])
