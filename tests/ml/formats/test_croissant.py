"""Croissant: reading what we write, the sentence for each fault, and equality after writing."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from ml.formats.croissant import Croissant, Field, FileObject, RecordSet, build, parse
from ml.formats.errors import FormatError
from tests.ml.formats.mutations import mutated


def sample() -> Croissant:
    return Croissant(
        name="bench-r1",
        description="Questions.",
        license="https://creativecommons.org/licenses/by/4.0/",
        url="urn:sha256:00",
        version="1.0.0",
        date_published="2026-12-01",
        cite_as="Say the number.",
        files=[FileObject("test.parquet", "data/test.parquet", "application/x-parquet", 10, "a" * 64, "Items.")],
        record_sets=[
            RecordSet(
                "test",
                "id",
                [
                    Field("id", "sc:Text", "test.parquet", "id"),
                    Field("options", "sc:Text", "test.parquet", "options", True, "Four of them."),
                ],
                "One record an item.",
            )
        ],
        extra={"isLiveDataset": False},
    )


def test_writing_and_reading_again_changes_nothing() -> None:
    assert parse(json.dumps(build(sample()))) == sample()
    tree = build(sample())
    assert build(parse(json.dumps(tree))) == tree
    assert tree["recordSet"][0]["key"] == {"@id": "test/id"}
    assert tree["recordSet"][0]["field"][1]["repeated"] is True and "repeated" not in tree["recordSet"][0]["field"][0]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.pop("license"), "The field license is missing."),
        (lambda t: t.update({"@type": "Thing"}), "@type: expected sc:Dataset, found"),
        (lambda t: t.update(conformsTo="1.1"), "conformsTo: expected http://mlcommons.org/croissant/1.0, found"),
        (lambda t: t["distribution"][0].update(sha256="abc"), "distribution[0].sha256: expected 64 hexadecimal digits"),
        (lambda t: t["distribution"][0].update(contentSize="10 KB"), "distribution[0].contentSize: expected a number"),
        (lambda t: t["distribution"].append(t["distribution"][0]), "distribution: two files have one id."),
        (
            lambda t: t["recordSet"][0]["field"][0].update(dataType="sc:Thing"),
            "recordSet[0].field[0].dataType: expected one of cr:Split,",
        ),
        (
            lambda t: t["recordSet"][0]["field"][1]["source"]["fileObject"].update({"@id": "other"}),
            'recordSet[0].field[1].source.fileObject: there is no file "other".',
        ),
        (
            lambda t: t["recordSet"][0]["key"].update({"@id": "test/no"}),
            'recordSet[0].key: there is no field "test/no".',
        ),
    ],
)
def test_a_fault_is_one_sentence_that_names_the_place(change: Any, sentence: str) -> None:
    tree = json.loads(json.dumps(build(sample())))
    change(tree)
    with pytest.raises(FormatError) as caught:
        parse(json.dumps(tree))
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("seed", range(200))
def test_a_damaged_file_is_read_or_refused_with_a_sentence(seed: int) -> None:
    data = mutated(build(sample()), random.Random(seed))
    try:
        read = parse(data)
    except FormatError as error:
        assert "\n" not in str(error) and str(error).endswith(".")
    else:
        assert parse(json.dumps(build(read), allow_nan=False)) == read
