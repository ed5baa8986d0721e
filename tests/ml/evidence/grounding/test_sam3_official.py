"""The official package through a double of its predictor, which takes only the requests that the real one knows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import cv2
import numpy as np
import pytest

from ml import torchside
from ml.evidence.grounding import registry, sam3_official
from ml.evidence.grounding.protocol import Footage, Grounded, Query, Window
from ml.evidence.grounding.sam3_official import Official, Sam3Official, in_order
from ml.weights.cache import MissingWeights, sha256
from tests import clips
from tests.ml.evidence.grounding.scripted import SIZE, Thing, footage

KEYS = {
    "start_session": {"resource_path", "session_id"},
    "add_prompt": {
        "session_id", "frame_index", "text", "points", "point_labels", "bounding_boxes", "bounding_box_labels",
        "obj_id",
    },
    "propagate_in_video": {"session_id", "propagation_direction", "start_frame_index", "max_frame_num_to_track"},
    "close_session": {"session_id"},
}  # fmt: skip


class Predictor:
    """Keeps sessions in a dictionary of the class until they are closed, and forgets the prompt before a new one."""

    sessions: dict[str, dict[str, Any]] = {}
    requests: list[dict[str, Any]] = []
    files: list[str] = []
    made_with: dict[str, Any] = {}

    def __init__(self, things: list[Thing], fails_at: int = -1) -> None:
        self.things, self.fails_at = things, fails_at

    def handle_request(self, request: dict[str, Any]) -> dict[str, Any]:
        self.check(request)
        if request["type"] == "start_session":
            name = f"session {len(self.requests)}"
            files = sorted(Path(request["resource_path"]).iterdir())
            self.files += [file.name for file in files]
            self.sessions[name] = {"files": files, "text": None}
            return {"session_id": name}
        session = self.sessions[request["session_id"]]
        if request["type"] == "close_session":
            del self.sessions[request["session_id"]]
            return {"is_success": True}
        session["text"] = request["text"]
        return {"frame_index": request["frame_index"], "outputs": None}

    def handle_stream_request(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        self.check(request)
        assert request["propagation_direction"] == "forward"  # "both" would come back in another order
        session = self.sessions[request["session_id"]]
        for position, file in enumerate(session["files"][request["start_frame_index"] :]):
            if position == self.fails_at:
                raise RuntimeError("CUDA out of memory")
            picture = cv2.imread(str(file))
            assert picture is not None
            frame = clips.read_number(picture)
            things = [(k, t) for k, t in enumerate(self.things) if t.phrase == session["text"]]
            here = [(k, t) for k, t in things if t.start <= frame < t.end]
            if not here:
                continue  # a frame without an object is left out
            masks = np.array([t.mask(frame) for _, t in here])
            yield {
                "frame_index": position,
                "outputs": {
                    "out_obj_ids": np.array([7 + 3 * k for k, _ in here]),
                    "out_probs": np.array([t.score for _, t in here]),
                    "out_boxes_xywh": np.zeros((len(here), 4)),
                    "out_binary_masks": masks,
                    "frame_stats": None,
                },
            }

    def check(self, request: dict[str, Any]) -> None:
        """Fault 12 of the public pipeline: a start frame under another key is ignored by the real one, silently."""
        assert request.keys() - {"type"} <= KEYS[request["type"]]
        self.requests.append(request)


FIRST = Thing("red cup", 0, 5, lambda f: (0, 0, 40, 40), 0.8)
SECOND = Thing("red cup", 0, 20, lambda f: (100, 20, 140 + f, 60), 0.7)
OTHER = Thing('"../../cup" & $(rm)', 3, 9, lambda f: (200, 20, 240, 60))
QUERIES = [Query("phrase-1", "red cup"), Query("phrase-2", OTHER.phrase)]
FRAMES = np.arange(0, 20, 2)


@pytest.fixture
def grounder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Sam3Official:
    """The grounder on an installed package whose builder makes the double."""
    package, builder = ModuleType("sam3"), ModuleType("sam3.model_builder")
    package.__spec__ = sys.__spec__  # what find_spec asks for

    def build(**arguments: Any) -> Predictor:
        Predictor.made_with = arguments
        return Predictor([FIRST, SECOND, OTHER])

    builder.build_sam3_video_predictor = build  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sam3", package)
    monkeypatch.setitem(sys.modules, "sam3.model_builder", builder)
    monkeypatch.setattr(sam3_official, "has_gpu", lambda: True)
    for name in ("sessions", "requests", "files"):
        monkeypatch.setattr(Predictor, name, type(getattr(Predictor, name))())
    (tmp_path / "sam3.pt").write_bytes(b"weights")
    (tmp_path / "bpe_simple_vocab_16e6.txt.gz").write_bytes(b"words")
    return Sam3Official(tmp_path)


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Footage:
    return footage(tmp_path_factory.mktemp("numbers"), 20)


def ground(grounder: Sam3Official, video: Footage) -> Grounded:
    return grounder.ground(video, QUERIES, Window(FRAMES, FRAMES < 9, (0, 9)), progress=lambda share: None)


def test_requests_are_laid_out_as_the_package_reads_them(grounder: Sam3Official, video: Footage) -> None:
    ground(grounder, video)
    kinds = [request["type"] for request in Predictor.requests]
    assert kinds == ["start_session", "add_prompt", "propagate_in_video", "close_session"] * 2  # one concept a pass
    assert Predictor.requests[1]["text"] == "red cup" and Predictor.requests[1]["frame_index"] == 0
    assert Predictor.requests[2]["start_frame_index"] == 0
    assert Predictor.made_with.keys() == {"checkpoint_path", "bpe_path"}  # its own default vocabulary is not there


def test_sessions_are_closed_and_files_are_numbers(grounder: Sam3Official, video: Footage) -> None:
    """Faults 11 and 12: sessions stayed open; the text of a prompt became part of file names."""
    ground(grounder, video)
    assert not Predictor.sessions
    assert Predictor.files == [f"{k:06d}.jpg" for k in range(10)] * 2
    assert not Path(Predictor.requests[0]["resource_path"]).exists()


def test_objects_go_by_their_id_and_scores_are_none_of_a_frame(grounder: Sam3Official, video: Footage) -> None:
    """Fault 12: the place in the list was taken for the object; and `out_probs` is no confidence over time."""
    found = ground(grounder, video)
    assert found.status == {"phrase-1": "ok", "phrase-2": "ok"}
    masks = found.masks
    spans = {
        (str(masks.query[masks.object == k][0]), *masks.frame[masks.object == k].tolist())
        for k in np.unique(masks.object).tolist()
    }
    assert spans == {("phrase-1", 0, 2, 4), ("phrase-1", *range(0, 20, 2)), ("phrase-2", 4, 6, 8)}
    assert np.isnan(masks.tracker_score).all()
    assert set(np.round(masks.score.astype(float), 2).tolist()) == {0.7, 0.8, 0.9}


def test_a_failing_pass_is_an_error_of_its_phrase_and_closes_its_session(
    grounder: Sam3Official, video: Footage
) -> None:
    grounder.__dict__["engine"] = Official(Predictor([FIRST, SECOND, OTHER], fails_at=4), grounder.folder)
    found = ground(grounder, video)
    assert set(found.status.values()) == {"error"} and not Predictor.sessions
    assert found.sentence["phrase-1"] == 'SAM 3 failed on "red cup": RuntimeError: CUDA out of memory.'


def test_a_phrase_that_it_would_cut_off_is_refused(grounder: Sam3Official) -> None:
    assert grounder.refuses("a man in a red plaid shirt with") == ""
    assert "tokens for SAM 3, which takes 32 at most: it would be cut off." in grounder.refuses("o" * 31)


def test_frames_out_of_order_are_a_failure() -> None:
    answers = [{"frame_index": k, "outputs": None} for k in (0, 2, 1)]
    with pytest.raises(RuntimeError, match="spoke of frame 1 where 3 to 4 were left"):
        list(in_order(iter(answers), 5, SIZE))
    assert [s.position for s in in_order(iter(answers[:2]), 5, SIZE)] == [0, 1, 2, 3, 4]


def test_what_decides_is_described(grounder: Sam3Official) -> None:
    about = registry.describe(grounder)
    assert about["weights"]["sam3.pt"] == sha256(grounder.folder / "sam3.pt")
    assert about["settings"]["packages"] == {"sam3": "unknown"}


def test_without_the_package_a_gpu_or_weights_it_fails_at_once(
    grounder: Sam3Official, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sam3.pt").unlink()
    with pytest.raises(MissingWeights, match=r"needs .*sam3\.pt, which is not there"):
        registry.load("sam3-official", tmp_path)
    monkeypatch.setattr(sam3_official, "has_gpu", lambda: False)
    with pytest.raises(torchside.MissingPackages, match="NVIDIA GPU only"):
        registry.load("sam3-official", tmp_path)
    monkeypatch.delitem(sys.modules, "sam3")
    with pytest.raises(torchside.MissingPackages, match="the package sam3, which is not installed; it is optional"):
        registry.load("sam3-official")
