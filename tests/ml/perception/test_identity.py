"""Identity links from made-up vectors: bands, one-to-one by visibility, no chains, few links."""

from __future__ import annotations

import numpy as np
import pytest

from ml.perception import identity
from ml.perception.identity import join, similar_pairs, together
from ml.perception.records import PieceBuilder


def direction(degrees: float) -> np.ndarray:
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


def links(angles: list[float], apart: set[tuple[int, int]] | None = None) -> list[tuple[int, int, str]]:
    vectors = np.array([direction(a) for a in angles])
    return [(k.a, k.b, k.band) for k in join(np.arange(len(angles)), vectors, apart or set())]


def test_bands() -> None:
    assert links([0, 45.0]) == [(0, 1, "same")]  # cosine 0.707
    assert links([0, 46.0]) == [(0, 1, "ask")]  # 0.695
    assert links([0, 59.0]) == [(0, 1, "ask")]  # 0.515
    assert links([0, 61.0]) == []


def test_tracks_seen_together_are_never_linked() -> None:
    assert links([0, 1], {(0, 1)}) == []


def test_two_who_are_seen_together_share_no_partner() -> None:
    """2 resembles both 0 and 1; the better match takes it, and the other may not even be asked."""
    assert links([0, 30, 10], {(0, 1)}) == [(0, 2, "same")]


def test_a_person_in_many_shots_needs_one_link_each() -> None:
    found = links([0, 5, 10, 15, 20])
    assert len(found) == 4
    assert {band for _, _, band in found} == {"same"}


def test_a_chain_does_not_merge_strangers() -> None:
    """Neighbours are similar enough, the ends are strangers: the groups' mean must stay at ASK."""
    found = links([0, 40, 80, 120, 160])
    groups = {k: {k} for k in range(5)}
    for a, b, band in found:
        if band == "same":
            merged = groups[a] | groups[b]
            groups.update(dict.fromkeys(merged, merged))
    assert not any({0, 3} <= g or {0, 4} <= g or {1, 4} <= g for g in groups.values())


def test_one_question_between_two_groups() -> None:
    found = links([0, 3, 55, 58])
    assert [band for _, _, band in found] == ["same", "same", "ask"]


def test_similar_pairs_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.array([direction(a) for a in (0, 100, 4, 102, 8)])
    whole = similar_pairs(vectors)
    monkeypatch.setattr(identity, "BLOCK", 2)
    assert similar_pairs(vectors) == whole
    assert {(i, j) for i, j, _ in whole} == {(0, 2), (0, 4), (2, 4), (1, 3)}
    assert all(i < j for i, j, _ in whole)


def test_together_lists_pairs_of_each_frame() -> None:
    position, rows = np.array([0, 0, 1, 1, 1, 2]), np.array([4, 2, 2, -1, 7, 9])
    assert together(position, rows) == {(2, 4), (2, 7)}


def test_the_gallery_keeps_the_best_faces() -> None:
    builder = PieceBuilder()
    face = {"face": np.full(4, np.nan), "eye": np.full(2, np.nan), "look": np.zeros(128), "body": np.zeros(4)}
    rest = {"score": 1, "derived": False, "face_score": 1, "flag": 1, "profile": False, "yaw": 0, "pitch": 0, "read": 1}
    good, bad = np.eye(1024)[0], np.eye(1024)[1]
    for k in range(2 * identity.BEST):
        builder.add(frame=k, sampled=True, position=k, **face, **rest)
        builder.add(embedded_row=k, quality=1.0 if k % 2 else 0.1, embedding=good if k % 2 else bad)
    piece = builder.build()
    gallery = identity.Gallery()
    gallery.add(piece, np.arange(2 * identity.BEST) // identity.BEST)  # two tracks of BEST faces each
    (link,) = gallery.links()
    assert (link.a, link.b, link.band) == (0, 1, "same")
