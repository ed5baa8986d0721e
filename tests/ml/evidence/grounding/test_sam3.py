"""SAM 3 by transformers on tiny random weights: that it runs and keeps its promises, not that it finds anything."""

from __future__ import annotations

import json
import shutil
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml.evidence.grounding import registry
from ml.evidence.grounding.protocol import Footage, Grounded, Query, Window
from ml.evidence.grounding.sam3 import Sam3
from ml.media import masks as packed
from ml.weights.cache import MissingWeights, sha256
from tests.ml.evidence.grounding.scripted import SIZE, footage

pytestmark = pytest.mark.xdist_group("torch")  # one process of those that share the tests loads it

QUERIES = [
    Query("phrase-1", "man in plaid shirt"), Query("category-1", "man", "category"),
    Query("negative-1", "blue cup", "negative"),
]  # fmt: skip
LOOKED = np.array([0, 2, 4, 6, 8, 10, 20, 22, 24, 26])


@pytest.fixture(scope="module")
def sam3(tiny_sam3: Path) -> Sam3:
    from ml.evidence.grounding.sam3_model import Limits, Transformers

    grounder = Sam3(tiny_sam3)
    grounder.length, grounder.overlap = 5, 2
    grounder.__dict__["engine"] = Transformers(tiny_sam3, Limits(objects=6))
    return grounder


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Footage:
    return footage(tmp_path_factory.mktemp("numbers"), 30, [(0, 9), (9, 30)])


@pytest.fixture(scope="module")
def found(sam3: Sam3, video: Footage) -> Grounded:
    """A claim's window with its control, over a cut, in chunks that overlap; no network while it is looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "socket", None)
        window = Window(LOOKED, LOOKED < 12, (0, 12))
        return sam3.ground(video, QUERIES, window, progress=lambda share: None)


def test_several_phrases_are_looked_for_in_the_span_and_its_control(found: Grounded) -> None:
    masks = found.masks
    assert found.status == {"phrase-1": "ok", "category-1": "ok", "negative-1": "ok"} and not found.sentence
    assert found.looked.tolist() == LOOKED.tolist() and set(masks.frame.tolist()) <= set(LOOKED.tolist())
    assert (masks.frame >= 12).any() and (masks.frame < 12).any()
    ids = [set(masks.object[masks.query == q.id].tolist()) for q in QUERIES]
    assert all(ids) and not ids[0] & ids[1] and not ids[1] & ids[2] and not ids[0] & ids[2]
    assert masks.size == SIZE and (masks.kind == "mask").all()


def test_nothing_is_followed_across_the_cut(found: Grounded) -> None:
    masks = found.masks
    for number in np.unique(masks.object).tolist():
        assert len({frame < 9 for frame in masks.frame[masks.object == number].tolist()}) == 1


def test_identities_go_on_over_the_borders_of_chunks(found: Grounded) -> None:
    """After the cut six frames lie in two chunks: 10, 20, 22, 24, 26 would be two without stitching."""
    masks = found.masks
    after = [set(masks.frame[masks.object == k].tolist()) for k in np.unique(masks.object[masks.frame >= 10]).tolist()]
    assert any(len(frames) >= 4 for frames in after)
    keys = list(zip(masks.query.tolist(), masks.object.tolist(), masks.frame.tolist(), strict=True))
    assert len(set(keys)) == len(keys)


def test_the_score_stays_and_the_trackers_varies(found: Grounded) -> None:
    masks = found.masks
    longest = max(np.unique(masks.object).tolist(), key=lambda k: int((masks.object == k).sum()))
    rows = masks.object == longest
    assert rows.sum() >= 3 and np.isfinite(masks.tracker_score).all()
    assert len(np.unique(masks.tracker_score[rows])) > 1
    assert ((masks.score >= 0) & (masks.score <= 1) & (masks.tracker_score >= 0) & (masks.tracker_score <= 1)).all()


def test_masks_can_be_stored_and_a_rerun_gives_the_same_bytes(
    sam3: Sam3, video: Footage, found: Grounded, tmp_path: Path
) -> None:
    packed.write(tmp_path / "first.parquet", found.masks, {})
    again = sam3.ground(video, QUERIES, Window(LOOKED, LOOKED < 12, (0, 12)), progress=lambda share: None)
    packed.write(tmp_path / "again.parquet", again.masks, {})
    assert (tmp_path / "first.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()


def test_a_phrase_over_the_models_limit_is_refused_before_it_gets_there(sam3: Sam3, video: Footage) -> None:
    long = "man in red plaid shirt" + " in red" * 13
    seen: list[Any] = []
    tokenizer = sam3.engine.processor.tokenizer  # type: ignore[attr-defined]
    assert sam3.engine.tokens("man in red plaid shirt") == 7 and sam3.engine.tokens(long) == 33
    assert sam3.refuses("man in red plaid shirt" + " red" * 25) == ""  # 32
    assert "33 tokens for SAM 3, which takes 32 at most" in sam3.refuses(long)
    with pytest.raises(RuntimeError):  # what the library itself would make of it
        tokenizer(long, padding="max_length", max_length=32, return_tensors="pt").input_ids.reshape(1, 32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(sam3.engine), "look", lambda *arguments: seen.append(arguments))
        nothing = sam3.ground(video, [Query("phrase-1", long)], Window(LOOKED, LOOKED < 12, (0, 12)), progress=print)
    assert nothing.status == {"phrase-1": "skipped"} and not seen and not len(nothing.masks.frame)


def test_a_session_is_released_and_holds_only_what_the_tracker_looks_back_at(sam3: Sam3, video: Footage) -> None:
    """Fault 11: sessions were never closed."""
    from ml.evidence.grounding import sam3_model

    engine: Any = sam3.engine
    sessions: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "looks_back", 2)
        whole = engine.session

        def noted(pictures: Any) -> Any:
            sessions.append(whole(pictures))
            return sessions[-1]

        patch.setattr(engine, "session", noted)
        held = []
        pictures = iter([np.zeros((90, 160, 3), np.uint8)] * 6)
        for seen in engine.look(pictures, ["man"]):
            outputs = sessions[0].output_dict_per_obj.values()
            held.append(max((len(o["non_cond_frame_outputs"]) for o in outputs), default=0))
            assert seen.masks.dtype == bool and seen.masks.shape[1:] == (90, 160)
            if seen.position == 5:
                assert [p is None for p in sessions[0].processed_frames.values()] == [True] * 5 + [False]
        assert max(held) <= 4 and sessions[0].processed_frames is None and not sessions[0].output_dict_per_obj
        broken = engine.look(iter([np.zeros((90, 160, 3), np.uint8)] * 6), ["man"])
        next(broken)
        broken.close()
        assert sessions[1].processed_frames is None
    assert sam3_model.library.cv_utils_kernel is False  # no code from a hub


def test_a_long_shot_costs_one_feature_cache(sam3: Sam3) -> None:
    engine: Any = sam3.engine
    session = engine.session(iter([np.zeros((90, 160, 3), np.uint8)] * 2))
    assert session.max_vision_features_cache_size == 1 and (session.video_height, session.video_width) == (90, 160)


def test_what_decides_a_result_is_described(sam3: Sam3, tiny_sam3: Path) -> None:
    about = registry.describe(sam3)
    assert about["name"] == "sam3" and about["version"]
    assert about["weights"]["model.safetensors"] == sha256(tiny_sam3 / "model.safetensors")
    settings = about["settings"]
    assert settings["new_det_thresh"] == 0.0 and settings["chunks"]["length"] == 5
    assert settings["packages"].keys() == {"torch", "transformers"} and settings["limit_objects"] == 6
    json.dumps(about)


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ("config.json", "no config.json"),
        ("processor_config.json", "no processor_config.json or preprocessor_config.json"),
        ("model.safetensors", "no .safetensors file in"),
    ],
)
def test_a_folder_that_is_not_whole_fails_at_once(tiny_sam3: Path, tmp_path: Path, gone: str, said: str) -> None:
    shutil.copytree(tiny_sam3, tmp_path / "weights")
    (tmp_path / "weights" / gone).rename(tmp_path / "weights" / "sam3.pt")
    with pytest.raises(MissingWeights, match=said):
        Sam3(tmp_path / "weights")


def test_missing_weights_and_hub_names_are_explained(tiny_sam3: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_SAM3_WEIGHTS", "/nowhere/sam3")
    with pytest.raises(MissingWeights, match="not in /nowhere/sam3.*facebook/sam3.*SIGHTLINE_SAM3_WEIGHTS"):
        Sam3()
    monkeypatch.setenv("SIGHTLINE_SAM3_WEIGHTS", str(tiny_sam3))
    assert Sam3().folder == tiny_sam3


def test_overlapping_detections_are_thinned_before_they_are_followed(sam3: Sam3) -> None:
    import torch

    engine: Any = sam3.engine
    masks = torch.full((4, 8, 8), -1.0)
    masks[0, :4], masks[1, :3], masks[2, 5:] = 1, 1, 1  # the second lies in the first, the last is empty
    scores = torch.tensor([0.6, 0.9, 0.5, 0.95])
    model: Any = engine.model
    kept = model.thinned({"mask": masks, "scores": scores, "bbox": torch.arange(16.0).reshape(4, 4)})
    assert kept["scores"].tolist() == pytest.approx([0.9, 0.5]) and kept["bbox"][:, 0].tolist() == [4.0, 8.0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "most_of_a_phrase", 1)
        assert model.thinned({"mask": masks, "scores": scores})["scores"].tolist() == pytest.approx([0.9])


def test_footage_without_frames_in_a_shot_finds_nothing(sam3: Sam3, video: Footage) -> None:
    nowhere = replace(video, shots=[(0, 5)])
    found = sam3.ground(nowhere, QUERIES[:1], Window(np.array([20, 22]), np.ones(2, bool), (20, 23)), progress=print)
    assert found.status == {"phrase-1": "empty"} and not len(found.looked)


def test_pictures_come_once_and_in_order_although_the_model_holds_them_back(sam3: Sam3) -> None:
    """The released configuration holds back 15, in which it drops what it does not see again."""
    engine: Any = sam3.engine
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("hotstart_delay", 4), ("hotstart_unmatch_thresh", 2), ("hotstart_dup_thresh", 2)):
            patch.setattr(engine.model, name, value)
        for count in (2, 4, 7):
            pictures = iter([np.full((90, 160, 3), 30 * k, np.uint8) for k in range(count)])
            assert [seen.position for seen in engine.look(pictures, ["man"])] == list(range(count))
