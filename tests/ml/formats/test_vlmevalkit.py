"""VLMEvalKit's table: reading, the sentence for each fault, and equality after writing."""

from __future__ import annotations

import csv
import io
import random

import pytest

from ml.formats.errors import FormatError
from ml.formats.vlmevalkit import Line, build, parse

LINES = [
    Line(
        1, "Who?", ["Person 1", "Person 2", "Person 3", "No one"], "B", "video/a.mp4", "", "mutual_gaze", "gaze", "test"
    ),
    Line(2, 'A "quoted"\tquestion\nover two lines', ["Yes", "No"], "A", extra={"id": "q00002"}),
    Line(7, "Ünïcode?", [], "some words", hint="look twice"),
]


def test_writing_and_reading_again_changes_nothing() -> None:
    assert parse(build(LINES)) == LINES
    assert parse(build(LINES).encode()) == LINES
    assert parse(build([])) == []


def test_readers_of_the_field_see_the_columns_they_expect() -> None:
    rows = list(csv.DictReader(io.StringIO(build(LINES)), delimiter="\t"))
    assert rows[0]["index"] == "1" and rows[0]["D"] == "No one" and rows[0]["answer"] == "B"
    assert rows[1]["question"] == LINES[1].question and rows[1]["C"] == ""
    assert list(rows[0])[:8] == ["index", "video", "question", "hint", "A", "B", "C", "D"]


HEAD = "index\tquestion\tA\tB\tanswer\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The file is empty: there is no line of column names."),
        ("question\tanswer\n", "line 1: the column index is missing."),
        ("index\tquestion\tanswer\tA\tA\n", "line 1: a column has no name, or the name of another."),
        ("index\tquestion\tanswer\tA\tC\n", "line 1: the option columns are A, C, not the first letters in a row."),
        (HEAD + "1\tq\ta\tb\n", "line 2: 4 cells, but 5 columns."),
        (HEAD + "x\tq\ta\tb\tA\n", "line 2: the index must be a whole number, not 'x'."),
        (HEAD + "1\tq\ta\tb\tA\n1\tq\ta\tb\tA\n", "line 3: the index 1 is there already."),
        (HEAD + '1\t"q\ta\tb\tA\n', "line 2: not a row of tab-separated cells (unexpected end of data)."),
    ],
)
def test_a_fault_is_one_sentence_that_names_the_line(text: str, sentence: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse(text)
    assert str(caught.value) == sentence


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(FormatError, match="not UTF-8 text: byte 5"):
        parse(b"index\xff")


def test_more_options_than_letters_do_not_fit() -> None:
    with pytest.raises(FormatError, match="27 options"):
        build([Line(1, "q", ["x"] * 27, "A")])


@pytest.mark.parametrize("seed", range(200))
def test_a_damaged_file_is_read_or_refused_with_a_sentence(seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(build(LINES).encode())
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data))
        action = rng.choice(["set", "drop", "double", "cut"])
        if action == "set":
            data[at] = rng.choice([9, 10, 13, 34, 0, 255, 49, rng.randrange(256)])
        elif action == "drop":
            del data[at : at + rng.randint(1, 9)]
        elif action == "double":
            data[at:at] = data[at : at + 30]
        elif len(data) > 20:
            del data[at:]
        if not data:
            break
    try:
        lines = parse(bytes(data))
    except FormatError as error:
        assert "\n" not in str(error) and str(error).endswith(".")
    else:
        assert parse(build(lines)) == lines
