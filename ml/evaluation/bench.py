"""Items of a benchmark as they are asked and scored, whoever made it, and how one is loaded.

A benchmark is a file or a folder; what it is told by its fields:

    release          a folder with release.json (`manage.py release`)
    grasp            GRASP items (`ml.formats.grasp_items`): a list, JSON lines, or a folder of item files
    mmsi             MMSI as GRASP recast it for language models; online-mmsi: the same with the past only
    tvqa+            TVQA+
    intentbench, daily-omni, worldsense

Items that nobody can score here (open-ended, retired, of a test split without answers) are left out and counted by
reason. An item's letters are those of its position: A for the first option.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ml.formats.errors import FormatError
from ml.questions.taxonomy import Scheme
from ml.rewards.rows import Truth
from ml.text.answers import letter_of

LETTER, LETTERS, YES_NO, NUMBER = "letter", "letters", "yes_no", "number"
MOST_OPTIONS = 26
LEFT_OUT_OPEN = "open-ended: no key to compare with"


@dataclass(frozen=True)
class Item:
    """One question. `key`: letters (of a LETTERS item sorted), "yes" or "no", or the number as text.

    `video`: path below the folder of videos, of a file or of a folder of pictures (then `rate` per second); `start`,
    `end`: seconds in it, None for all of it. `recording`: what the clip was cut from, the unit of the intervals.
    `context`: words that are given with the question (a dialogue). Events in seconds of the clip.
    """

    id: str
    question: str
    options: tuple[str, ...]
    key: tuple[str, ...]
    kind: str = LETTER
    category: str = ""
    group: str = ""
    difficulty: str = ""
    source: str = ""
    recording: str = ""
    video: str | None = None
    start: float | None = None
    end: float | None = None
    rate: float | None = None
    context: tuple[str, ...] = ()
    answer_text: str = ""
    events: tuple[Truth, ...] = ()
    visible: frozenset[int] | None = None
    person_map: tuple[tuple[int, str], ...] = ()

    @property
    def letters(self) -> str:
        """The letters on offer."""
        return "".join(letter_of(at) for at in range(len(self.options)))


@dataclass(frozen=True)
class Bench:
    """A benchmark. `sound`: what of it is not given to a model that sees pictures only, "" where nothing is missing.

    `left_out`: how many items, by reason. `videos`: the folder below which the videos lie. `control`: name, seed and
    the hash of the benchmark it was made of ("of"), where this is one (`controls.py`).
    """

    name: str
    kind: str
    items: tuple[Item, ...]
    sound: str = ""
    left_out: dict[str, int] = field(default_factory=dict)
    videos: Path | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    control: dict[str, Any] | None = None

    def sha256(self) -> str:
        """Of the items and their keys, by id, in any order: the same benchmark has the same hash wherever it lies."""
        digest = hashlib.sha256()
        for item in sorted(self.items, key=lambda one: one.id):
            digest.update(json.dumps(canonical(item), sort_keys=True, ensure_ascii=False).encode() + b"\n")
        return digest.hexdigest()


def canonical(item: Item) -> dict[str, Any]:
    """The item as JSON."""
    tree = asdict(item)
    tree["visible"] = None if item.visible is None else sorted(item.visible)
    tree["events"] = [{"source": e.modality, "persons": sorted(e.persons), "span": e.span} for e in item.events]
    return tree


Loader = Callable[[Path, "Wanted"], Bench]


@dataclass(frozen=True)
class Wanted:
    """What whoever loads says beside the path: the scheme of category codes, and which kind it is where fields do not
    tell (MMSI against Online-MMSI)."""

    scheme: Scheme | None = None
    kind: str | None = None


def load(path: Path, *, scheme: Scheme | None = None, kind: str | None = None, videos: Path | None = None) -> Bench:
    """Load a benchmark. `videos`: where its videos lie, by default the folder of the file (of a release: itself).

    Raises FormatError: one sentence that names file, place and cause.
    """
    from ml.evaluation.loaders import KINDS, detect

    path = Path(path)
    if not path.exists():
        raise FormatError(f"There is no file or folder {path}.")
    if kind is not None and kind not in KINDS:
        raise FormatError(f"There is no benchmark kind {kind!r}; there are {', '.join(KINDS)}.")
    loader = KINDS[kind or detect(path)]
    found = loader(path, Wanted(scheme, kind))
    if not found.items:
        reasons = "; ".join(f"{count} {reason}" for reason, count in found.left_out.items())
        raise FormatError(f"{path} holds no item that can be scored{f' ({reasons})' if reasons else ''}.")
    if videos is not None and not videos.is_dir():
        raise FormatError(f"There is no folder {videos} of videos.")
    return replace(found, videos=videos or found.videos or (path if path.is_dir() else path.parent))


def gathered(
    name: str, kind: str, found: Iterable[Item | str], *, sound: str = "", facts: dict[str, Any] | None = None
) -> Bench:
    """A benchmark of items; a text instead of one is the reason why an item was left out."""
    items: list[Item] = []
    left: Counter[str] = Counter()
    for one in found:
        if isinstance(one, str):
            left[one] += 1
        else:
            items.append(one)
    return Bench(name, kind, tuple(unique(items)), sound, dict(left), facts=facts or {})


def unique(items: Sequence[Item]) -> list[Item]:
    """The items under ids that are each there once: their own, else with the video in front. Raises FormatError."""
    for name in (lambda one: one.id, lambda one: f"{one.video or one.recording}/{one.id}"):
        ids = [name(item) for item in items]
        if len(set(ids)) == len(ids):
            return [replace(item, id=id) for item, id in zip(items, ids, strict=True)]
    twice = next(id for id, count in Counter(ids).items() if count > 1)
    raise FormatError(f"The id {twice} is there twice, so that no answer can be told to be its.")


def lettered(item: Item, place: str) -> Item:
    """The item, checked: options at all, and a key among them. Raises FormatError naming the place."""
    if item.kind not in (LETTER, LETTERS):
        return item
    if not 2 <= len(item.options) <= MOST_OPTIONS:
        raise FormatError(f"{place}: expected 2 to {MOST_OPTIONS} options, found {len(item.options)}.")
    wrong = [letter for letter in item.key if letter not in item.letters or not letter]
    if wrong or not item.key:
        shown = ", ".join(wrong) or "nothing"
        raise FormatError(f"{place}: the answer is {shown}, the options are {item.letters[0]} to {item.letters[-1]}.")
    return item
