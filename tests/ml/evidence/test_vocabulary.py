"""The fixed vocabulary: whole words and head nouns decide, what is said beyond the category, negatives of the kind."""

from __future__ import annotations

import pytest

from ml.evidence.vocabulary import COCO, EMBEDDED, KINDS, OPEN
from ml.perception.nanodet import COCO as DETECTED


def test_the_words_are_the_detectors_own_classes() -> None:
    names = [name.replace("_", " ") for name in DETECTED if name != "person"]
    assert list(COCO) == names
    assert sorted(name for kind in KINDS for name in kind) == sorted(names)
    assert all(EMBEDDED.category(name) == name for name in names)


@pytest.mark.parametrize(
    ("phrase", "category"),
    [
        ("man in red striped shirt", "person"), ("a tall, smiling woman", "person"), ("the two children", "person"),
        ("Person 2", "person"), ("group of people", "person"), ("crowd", "person"), ("person holding a cup", "person"),
        ("cup of tea", "cup"), ("the red round mugs", "cup"), ("bowl of apples", "bowl"), ("slice of pizza", "pizza"),
        ("couple of books", "book"), ("sofa", "couch"), ("coffee table", "dining table"), ("knives", "knife"),
        ("mice", "mouse"), ("orange cup", "cup"), ("hot dog", "hot dog"), ("teddy bear", "teddy bear"),
        ("woman's bicycle", "bicycle"), ("cell-phone", "cell phone"), ("phone on the table", "cell phone"),
        ("stuffed bear", "teddy bear"), ("television sets", "tv"), ("wine glasses", "wine glass"),
        # the faults of the public pipeline: pieces of words, and parts of people
        ("romantic mood", None), ("emancipated", None), ("human face", None), ("mankind", None), ("woman's hand", None),
        ("manual", None), ("Person 1's left hand", None), ("a boyish smile", None), ("human emotion", None),
        ("phone case", None), ("dog food", None), ("toy car", None), ("rocking horse", None), ("pool table", None),
        ("glass", None), ("bag", None), ("carpet", None), ("red shirt", None), ("", None), ("of", None), ("the", None),
        ("人物", None), ("sitting man", "person"), ("young smiling woman", "person"), ("cup standing on a book", "cup"),
        ("plastic cup", "cup"), ("racquets", "tennis racket"), ("person with a dog", "person"), ("face of a man", None),
    ],
)  # fmt: skip
def test_the_head_noun_decides_by_whole_words(phrase: str, category: str | None) -> None:
    assert EMBEDDED.category(phrase) == category
    assert EMBEDDED.knows(phrase) is (category is not None)
    assert OPEN.knows(phrase) and OPEN.category(phrase) == category


@pytest.mark.parametrize(
    ("phrase", "more"),
    [
        ("person", ()), ("the people", ()), ("Person 2", ()), ("cup", ()), ("a mug", ()), ("group of people", ()),
        ("woman", ("woman",)), ("family", ("family",)),
        ("man in red striped shirt", ("man", "red", "striped", "shirt")),
        ("person on the left", ("left",)), ("red cup on the table", ("red", "table")), ("two cups", ("two",)),
        ("coffee table", ("coffee",)), ("hot dog", ()), ("human face", ("human", "face")),
    ],
)  # fmt: skip
def test_what_a_phrase_says_beyond_its_category(phrase: str, more: tuple[str, ...]) -> None:
    assert EMBEDDED.beyond(phrase) == more


def test_a_negative_is_of_the_same_kind_known_and_not_spoken_of() -> None:
    assert EMBEDDED.negative("woman in red dress", []) == "giraffe"
    assert EMBEDDED.negative("red mug", ["a fork", "two knives"]) == "spoon"
    for kind in KINDS:
        for name in kind:
            found = EMBEDDED.negative(name, ["people"])
            assert found in kind and found != name and EMBEDDED.knows(found)
    everything_furniture = [name for kind in KINDS if "chair" in kind for name in kind]
    elsewhere = EMBEDDED.negative("chair", everything_furniture)
    assert elsewhere is not None and elsewhere not in everything_furniture
    assert EMBEDDED.negative("human face", []) is None
    assert OPEN.negative("human face", []) is not None
    assert OPEN.negative("sofa", ["toilet"]) == "bed"
