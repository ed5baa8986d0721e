"""Chunks, cuts, identities and failures, with an engine that knows what is where (`scripted`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ml.evidence.grounding.engine import Image, Seen
from ml.evidence.grounding.protocol import Footage, Grounded, Query, Window
from ml.evidence.grounding.stitching import chunks
from ml.media import masks as packed
from ml.media.errors import MediaError
from ml.perception.gestures.protocol import People
from ml.progress import Cancelled
from tests.ml.evidence.grounding.scripted import SIZE, Script, Scripted, Thing, footage

FRAMES = 300


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Footage:
    return footage(tmp_path_factory.mktemp("numbers"), FRAMES)


def walk(x: float, step: float, y: float = 60) -> Thing:
    return Thing("people", 0, FRAMES, lambda f: (x + step * f, y, x + step * f + 30, y + 90))


# Two walk past each other, a third comes, is hidden for a while and goes; and a cup that moves once.
LEFT, RIGHT = walk(10, 0.9), walk(280, -0.8, 80)
THIRD = Thing("people", 100, 290, lambda f: (150, 0, 150 if 180 <= f < 200 else 170, 50))
CUP = Thing("red cup", 0, FRAMES, lambda f: (100, 150, 112, 160) if f < 150 else (104, 150, 116, 160))
ALL = [LEFT, RIGHT, THIRD, CUP]


def window(frames: np.ndarray | range, span: tuple[int, int] = (0, 1)) -> Window:
    frame = np.asarray(frames, np.int64)
    return Window(frame, np.ones(len(frame), bool), span)


def phrases(*texts: str) -> list[Query]:
    return [Query(f"phrase-{k}", text) for k, text in enumerate(texts, 1)]


def ground(script: Script, video: Footage, queries: list[Query], frames: np.ndarray | range) -> Grounded:
    return Scripted(script).ground(video, queries, window(frames), progress=lambda share: None)


def identities(found: Grounded, query: str, things: list[Thing]) -> list[dict[int, int]]:
    """For each thing, how many of its frames each object id has, by looking at every mask."""
    masks, counted = found.masks, []
    for thing in things:
        ids: dict[int, int] = {}
        for k in np.flatnonzero(masks.query == query).tolist():
            frame = int(masks.frame[k])
            if thing.start <= frame < thing.end and packed.encode(thing.mask(frame)) == masks.counts[k]:
                ids[int(masks.object[k])] = ids.get(int(masks.object[k]), 0) + 1
        counted.append(ids)
    return counted


def test_chunks_cover_everything_once_but_for_their_borders() -> None:
    assert chunks(125) == [(0, 125)] and chunks(0) == [] and chunks(3) == [(0, 3)]
    assert chunks(126) == [(0, 125), (120, 126)]
    assert chunks(365) == [(0, 125), (120, 245), (240, 365)]
    with pytest.raises(ValueError, match="cannot share 5"):
        chunks(10, 5, 5)


def test_identities_are_kept_over_chunk_borders_and_the_crossing_of_two(video: Footage) -> None:
    script = Script(ALL)
    found = ground(script, video, phrases("people", "red cup"), range(FRAMES))
    people = identities(found, "phrase-1", [LEFT, RIGHT, THIRD])
    assert [sorted(ids.values()) for ids in people] == [[300], [300], [170]]  # each one id; the third 20 frames hidden
    assert len({next(iter(ids)) for ids in people}) == 3
    assert [list(ids.values()) for ids in identities(found, "phrase-2", [CUP])] == [[300]]
    assert len(found.masks.frame) == 300 + 300 + 170 + 300  # nothing twice on shared frames
    assert found.status == {"phrase-1": "ok", "phrase-2": "ok"}
    assert [(frames[0], len(frames)) for frames, _ in script.passes] == [(0, 125), (120, 125), (240, 60)]
    assert script.open == 0


def test_somebody_hidden_on_all_shared_frames_is_somebody_new(video: Footage) -> None:
    hidden = Thing("people", 0, 300, lambda f: (50, 50, 50 if 118 <= f < 127 else 90, 90))
    found = ground(Script([hidden]), video, phrases("people"), range(FRAMES))
    assert identities(found, "phrase-1", [hidden]) == [{0: 118, 1: 173}]


def test_nobody_is_followed_across_a_cut(video: Footage) -> None:
    cut = Footage(video.video, video.index, video.width, video.height, [(0, 140), (140, 300)])
    script = Script(ALL)
    found = ground(script, cut, phrases("people"), range(FRAMES))
    spans = {k: (found.masks.frame[found.masks.object == k].min(), found.masks.frame[found.masks.object == k].max())
             for k in np.unique(found.masks.object).tolist()}  # fmt: skip
    assert len(spans) == 6 and all(low >= 140 or high < 140 for low, high in spans.values())
    assert [(frames[0], frames[-1]) for frames, _ in script.passes] == [(0, 124), (120, 139), (140, 264), (260, 299)]


def test_the_frames_of_a_claim_and_its_control_are_decoded_once_for_all_phrases(video: Footage) -> None:
    """Fault 11 of the public pipeline: the whole video was decoded again for every phrase, sessions stayed open, and
    only the first object was kept."""
    frames = np.array([4, 30, 31, 32, 90, 91, 250])
    script = Script(ALL)
    grounder = Scripted(script)
    looked_at = Window(frames, np.array([0, 1, 1, 1, 0, 0, 0], bool), (30, 33))
    found = grounder.ground(video, phrases("people", "red cup"), looked_at, progress=lambda share: None)
    assert script.passes == [(frames.tolist(), ("people", "red cup"))] and script.open == 0
    assert found.looked.tolist() == frames.tolist()
    assert len(np.unique(found.masks.object[found.masks.query == "phrase-1"])) == 3
    assert set(found.masks.frame.tolist()) == set(frames.tolist())  # inside and control alike
    assert found.seconds.keys() == {"decode", "model"}


def test_a_phrase_goes_to_the_model_as_it_is_written(video: Footage) -> None:
    """Fault 3: phrases were collapsed to "person", and "romantic" was one since it holds "man"."""
    script = Script([Thing("man in plaid shirt", 0, 9, lambda f: (0, 0, 50, 50)), *ALL])
    queries = [
        Query("phrase-1", "man in plaid shirt"), Query("category-1", "man", "category"),
        Query("negative-1", "woman in plaid shirt", "negative"), Query("phrase-2", "romantic light, soft"),
    ]  # fmt: skip
    found = ground(script, video, queries, range(8))
    assert script.passes[0][1] == ("man in plaid shirt", "man", "woman in plaid shirt", "romantic light, soft")
    assert found.status == {"phrase-1": "ok", "category-1": "empty", "negative-1": "empty", "phrase-2": "empty"}
    assert "plaid" in found.attributes_checked["phrase-1"]


def test_objects_keep_their_id_when_others_vanish_before_them(video: Footage) -> None:
    """Fault 12: objects were told apart by their place in the list of a frame, not by their id."""
    first = Thing("people", 0, 10, lambda f: (0, 0, 40, 40))
    second = Thing("people", 0, 30, lambda f: (100, 0, 140, 40))
    found = ground(Script([first, second]), video, phrases("people"), range(30))
    assert [len(ids) for ids in identities(found, "phrase-1", [first, second])] == [1, 1]
    scores = found.masks.tracker_score[found.masks.object == found.masks.object[-1]]
    assert np.allclose(scores, 0.9 - np.arange(30) / 1e4) and np.allclose(found.masks.score, 0.9)


def test_a_phrase_the_model_fails_on_is_an_error_for_it_alone(video: Footage) -> None:
    """Fault 10: the text of an error was taken for a result, which crashed the run and lost everything."""
    script = Script(ALL, fails="blue plate")
    found = ground(script, video, phrases("people", "blue plate", "red cup"), range(20))
    assert found.status == {"phrase-1": "ok", "phrase-2": "error", "phrase-3": "ok"}
    assert found.sentence == {
        "phrase-2": 'SAM 3 failed on "blue plate": RuntimeError: no kernel image is available for execution.'
    }
    assert "Each was looked for alone." in found.notes[0] and script.open == 0
    assert len(found.masks.frame[found.masks.query == "phrase-3"]) == 20
    alone = ground(Script(ALL), video, phrases("people", "red cup"), range(20))
    assert sorted(alone.masks.counts) == sorted(found.masks.counts)


def test_phrases_that_are_too_long_or_empty_never_reach_the_model(video: Footage) -> None:
    script = Script(ALL)
    long = " ".join(["very"] * 30) + " old man"
    found = ground(script, video, phrases(long, "red cup", "  "), range(5))
    assert found.status == {"phrase-1": "skipped", "phrase-2": "ok", "phrase-3": "skipped"}
    assert "has 34 tokens for SAM 3, which takes 32 at most" in found.sentence["phrase-1"]
    assert found.sentence["phrase-3"] == "There is no phrase to look for."
    assert script.passes[0][1] == ("red cup",)
    assert Scripted(script).refuses("old man") == ""


def test_the_same_words_asked_for_twice_are_looked_for_once(video: Footage) -> None:
    script = Script(ALL)
    queries = [Query("phrase-1", "red cup"), Query("reprompt-1", "red cup", "reprompt")]
    found = ground(script, video, queries, range(5))
    assert script.passes[0][1] == ("red cup",)
    a, b = (packed.picked(found.masks, found.masks.query == q.id) for q in queries)
    assert a.counts == b.counts and len(a.counts) == 5


def test_persons_are_masks_of_people_linked_by_who_is_where(video: Footage) -> None:
    frames = np.repeat(np.arange(0, 40, 5), 2)
    boxes = [thing.where(f) for f in range(0, 40, 5) for thing in (LEFT, RIGHT)]
    body = (np.array(boxes) / [SIZE[1], SIZE[0], SIZE[1], SIZE[0]]).astype(np.float32)
    people = People(frames, np.tile([3, 8], 8), body, np.full_like(body, np.nan))
    known = Footage(video.video, video.index, video.width, video.height, video.shots, people)
    queries = [Query("person-1", "", "person", 8), Query("person-2", "", "person", 5), Query("phrase-1", "red cup")]
    found = ground(Script(ALL), known, queries, range(40))
    assert found.status == {"person-1": "ok", "person-2": "empty", "phrase-1": "ok"}
    assert [list(ids.values()) for ids in identities(found, "person-1", [LEFT, RIGHT])] == [[], [40]]
    assert set(found.masks.person[found.masks.query == "person-1"].tolist()) == {8}
    nobody = ground(Script(ALL), video, queries, range(5))
    assert nobody.status == {"person-1": "error", "person-2": "error", "phrase-1": "ok"}
    assert nobody.sentence["person-1"] == "Nobody has said who is where in this video."


def test_the_limit_of_objects_is_a_note_and_a_rerun_gives_the_same(video: Footage) -> None:
    found = ground(Script(ALL, most=2), video, phrases("people"), range(110))
    assert found.notes == [
        "The limit of objects was reached within frames 0 to 109: there may be more than were followed."
    ]
    again = ground(Script(ALL, most=2), video, phrases("people"), range(110))
    assert again.masks.counts == found.masks.counts
    assert (again.masks.object == found.masks.object).all()


def test_what_progress_raises_stops_it_and_closes_the_pass(video: Footage) -> None:
    script, shares = Script(ALL), []

    def stop(share: float) -> None:
        shares.append(share)
        if share > 0.3:
            raise Cancelled("somebody asked for it")

    with pytest.raises(Cancelled):
        Scripted(script).ground(video, phrases("people", "red cup"), window(range(60)), progress=stop)
    assert script.open == 0 and shares == sorted(shares) and shares[-1] < 0.4
    shares.clear()
    Scripted(Script(ALL, fails="red cup")).ground(
        video, phrases("people", "red cup"), window(range(130)), progress=shares.append
    )
    assert shares == sorted(shares) and shares[-1] == 1


def test_a_video_that_cannot_be_read_is_no_error_of_a_phrase(video: Footage, tmp_path: Path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(video.video.read_bytes()[:2000])
    with pytest.raises(MediaError):
        ground(
            Script(ALL), Footage(broken, video.index, video.width, video.height, video.shots), phrases("a"), range(9)
        )


def test_one_concept_a_pass_gives_the_same_masks(video: Footage) -> None:
    together = ground(Script(ALL), video, phrases("people", "red cup"), range(130))
    script = Script(ALL, at_once=1)
    apart = ground(script, video, phrases("people", "red cup"), range(130))
    assert [p for _, p in script.passes] == [("people",), ("people",), ("red cup",), ("red cup",)]
    assert apart.masks.counts == together.masks.counts
    for query in ("phrase-1", "phrase-2"):
        sizes = [np.unique(f.masks.object[f.masks.query == query], return_counts=True)[1] for f in (together, apart)]
        assert sizes[0].tolist() == sizes[1].tolist()
    both = [set(apart.masks.object[apart.masks.query == q].tolist()) for q in ("phrase-1", "phrase-2")]
    assert not both[0] & both[1]


def test_masks_of_another_size_than_the_pictures_are_refused(video: Footage) -> None:
    class Small(Script):
        def look(self, pictures: Iterator[Image], phrases: list[str]) -> Iterator[Seen]:  # type: ignore[override]
            for seen in super().look(pictures, phrases):
                yield Seen(seen.position, seen.object, seen.phrase, seen.score, seen.tracker_score, seen.masks[:, ::2])

    found = ground(Small(ALL), video, phrases("people"), range(3))
    assert found.status == {"phrase-1": "error"} and "90, 320" in found.sentence["phrase-1"]
