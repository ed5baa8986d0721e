"""GRASP items: a list, JSON lines, or a folder of item files, of GRASP-Bench or of anything in its layout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ml.evaluation.bench import LEFT_OUT_OPEN, LETTER, LETTERS, Bench, Item, Wanted, gathered, lettered
from ml.evaluation.loaders import common
from ml.formats import grasp_codes, grasp_items
from ml.formats.errors import FormatError
from ml.questions.taxonomy import CATEGORIES, Scheme


def load(path: Path, wanted: Wanted) -> Bench:
    """Load it. Raises FormatError; also where a category code means different things and no scheme is named."""
    return gathered(path.stem, "grasp", _items(path, wanted.scheme))


def _items(path: Path, scheme: Scheme | None) -> Iterator[Item | str]:
    for entry in common.unwrapped(path):
        try:
            item = grasp_items.parse_item(entry.tree)
            if item.open_ended:
                yield LEFT_OUT_OPEN
                continue
            yield lettered(read(item, scheme, entry.position), "the item")
        except FormatError as error:
            raise FormatError(f"{entry.place}: {error}") from error


def read(item: grasp_items.Item, scheme: Scheme | None, position: int) -> Item:
    """One multiple-choice item. Its id: the one it names, else its clip's, else its position."""
    offered = common.options(item.options, "options")
    key = common.keys(item.answer, offered, "answer") if item.answer is not None else ()
    beside = {**item.qa_extra, **item.extra}
    id = beside.get("id")
    found = Item(
        id=str(id) if id is not None else Path(item.clip_file).stem if item.clip_file else f"item-{position:05d}",
        question=item.question,
        options=offered,
        key=key,
        kind=LETTERS if len(key) > 1 else LETTER,
        answer_text=item.answer_text or "",
        video=item.clip_file,
        source=item.dataset or "",
        recording=str(beside.get("source_recording") or item.video_name or item.video_id or item.clip_file or ""),
        difficulty=item.difficulty or "",
        person_map=common.person_map(beside.get("person_map")),
        **common.truths(beside),
    )
    return categorised(found, item.category, item.scheme or scheme)


def categorised(item: Item, code: str | None, scheme: Scheme | None) -> Item:
    """With slug, group and difficulty of a category code; without one as it is."""
    if not code:
        return item
    slug = grasp_codes.slug_of(code, scheme)
    difficulty = item.difficulty or grasp_codes.difficulty_of(slug, scheme or "data")
    return replace(item, category=slug, group=CATEGORIES[slug].group, difficulty=difficulty)
