"""The Hugging Face data set: the card and the rows, read again as they were written."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ml.formats.errors import FormatError
from ml.formats.hf_dataset import (
    COLUMNS,
    Card,
    Split,
    build_card,
    features,
    parse_card,
    read_rows,
    size_category,
    write_rows,
)
from tests.ml.formats.damage import damaged

CARD = Card(
    pretty_name="Bench: release 1",
    license="cc-by-4.0",
    language=["en"],
    task_categories=["visual-question-answering"],
    size_categories=["n<1K"],
    splits=[Split("test", "data/test-00000-of-00001.parquet", 3, 100), Split("dev", "data/dev.parquet", 1, 50)],
    features=features(),
    download_size=150,
    body="# Bench\n\n---\n\nWords with --- in them.\n",
    extra={"tags": ["video"], "license_name": "yes: no"},
)


def row(n: int, **more: Any) -> dict[str, Any]:
    events = [{"source": "gaze", "persons": [1, 2], "start": 0.5, "end": 1.25}]
    values: dict[str, Any] = {
        "id": f"q{n}", "number": n, "question": "Who? é\n", "options": ["a", "b"], "answer": "B", "answer_text": "b",
        "kind": "single", "category": "mutual_gaze", "category_code": "T4", "difficulty": "medium",
        "video": "video/x.mp4",
        "clip_duration": 4.5, "clip_offset": 0.1, "clip_sha256": "c", "media_sha256": "m", "source_recording": "",
        "licence": "CC BY 4.0", "start_frame": 1, "end_frame": 2, "time_range": [0.1, 0.2], "persons": [1],
        "reasoning": "", "gt_events": events, "sha256": "s",
    }  # fmt: skip
    return values | more


def test_a_card_reads_again_as_it_was_written() -> None:
    assert parse_card(build_card(CARD)) == CARD
    assert parse_card(build_card(CARD).encode()) == CARD
    assert build_card(parse_card(build_card(CARD))) == build_card(CARD)


def test_sizes_are_the_words_of_the_hub() -> None:
    assert [size_category(n) for n in (0, 999, 1000, 50_000, 2_000_000)] == [
        "n<1K", "n<1K", "1K<n<10K", "10K<n<100K", "1M<n<10M",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("---\n", "", "The card does not begin with front matter between two lines of ---."),
        ("license: cc-by-4.0", "licence: x", "The field license is missing."),
        ("num_bytes: 100", "num_bytes: -1", "dataset_info.splits[0].num_bytes: expected a whole number from 0"),
        ("  - name: dev", "  - name: x", 'dataset_info.splits[1].name: configs name no file of the split "x".'),
        ("language:\n- en", "language: 3", "language: expected a list, found 3."),
    ],
)
def test_a_fault_is_one_sentence_that_names_the_place(old: str, new: str, sentence: str) -> None:
    text = build_card(CARD)
    assert old in text
    with pytest.raises(FormatError) as caught:
        parse_card(text.replace(old, new, 1))
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("seed", range(200))
def test_a_damaged_card_is_read_or_refused_with_a_sentence(seed: int) -> None:
    data = damaged(build_card(CARD), random.Random(seed))
    try:
        card = parse_card(data)
    except FormatError as error:
        assert "\n" not in str(error) and str(error).endswith(".")
    else:
        assert parse_card(build_card(card)) == card


def test_rows_read_again_as_they_were_written() -> None:
    rows = [row(1), row(2, options=[], gt_events=[], persons=[]), row(3, reasoning=None)]
    data = write_rows(rows)
    assert read_rows(data) == rows
    assert write_rows(read_rows(data)) == data == write_rows(rows)
    assert read_rows(write_rows([])) == []


def test_a_table_without_a_column_is_refused() -> None:
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    target = io.BytesIO()
    pq.write_table(pa.table({"id": ["a"]}), target)
    with pytest.raises(FormatError, match="The table has no column number"):
        read_rows(target.getvalue())
    target = io.BytesIO()
    pq.write_table(pa.table({name: ["text"] for name in COLUMNS}), target)
    with pytest.raises(FormatError, match="no Parquet table of items"):
        read_rows(target.getvalue())


@pytest.mark.parametrize("seed", range(200))
def test_a_damaged_table_is_read_or_refused_with_a_sentence(seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(write_rows([row(n) for n in range(4)]))
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    if rng.random() < 0.3:
        del data[rng.randrange(len(data)) :]
    try:
        rows = read_rows(bytes(data))
    except FormatError as error:
        assert "\n" not in str(error) and str(error).endswith(".")
    else:
        assert all(set(one) == set(COLUMNS) for one in rows)
