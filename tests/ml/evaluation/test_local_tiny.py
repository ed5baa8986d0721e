"""A real Qwen3-VL of random weights, built here, answers through the local model: what doubles cannot show."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from ml import torchside
from ml.evaluation import models
from ml.evaluation.frames import Look, Shown
from ml.evaluation.local import LocalModel
from ml.evaluation.models import Asking
from ml.formats.errors import FormatError
from tests.ml.evaluation.samples import bench, item

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(torchside.missing()), reason="the packages of `make ml` are not installed"),
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a Qwen3-VL of 0.3 M parameters with a tokenizer of bytes."""
    torch, transformers = torchside.load()
    import trl
    from tokenizers import Tokenizer, decoders, pre_tokenizers
    from tokenizers import models as tokenizer_models

    vocabulary = {sign: at for at, sign in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    plain = Tokenizer(tokenizer_models.BPE(vocab=vocabulary, merges=[]))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    marks = ["<|im_start|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
    tokenizer.add_special_tokens({"additional_special_tokens": marks})
    template = (Path(trl.__file__).parent / "chat_templates/qwen3_vl.jinja").read_text()
    patches = {"patch_size": 16, "merge_size": 2, "temporal_patch_size": 2}
    processor = transformers.Qwen3VLProcessor(
        image_processor=transformers.Qwen2VLImageProcessor(
            **patches, size={"shortest_edge": 32 * 32, "longest_edge": 64 * 64}
        ),
        tokenizer=tokenizer,
        video_processor=transformers.Qwen3VLVideoProcessor(**patches),
        chat_template=template,
    )
    number = tokenizer.convert_tokens_to_ids
    text = {
        "vocab_size": len(tokenizer), "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "rope_theta": 10000.0,
        "rope_scaling": {"rope_type": "default", "mrope_section": [4, 2, 2], "mrope_interleaved": True},
        "eos_token_id": number("<|im_end|>"), "pad_token_id": number("<|endoftext|>"),
    }  # fmt: skip
    vision = {
        "depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 64,
        "deepstack_visual_indexes": [0, 1], "num_position_embeddings": 64, "patch_size": 16, "spatial_merge_size": 2,
        "temporal_patch_size": 2,
    }  # fmt: skip
    names = {"image": "image_pad", "video": "video_pad", "vision_start": "vision_start", "vision_end": "vision_end"}
    ids = {f"{name}_token_id": number(f"<|{mark}|>") for name, mark in names.items()}
    torch.manual_seed(0)
    config = transformers.Qwen3VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=True, **ids)
    folder = tmp_path_factory.mktemp("tiny") / "qwen3-vl-tiny"
    transformers.Qwen3VLForConditionalGeneration(config).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def noise(*_: object) -> list[Shown]:
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 255, (3, 48, 64, 3), dtype=np.uint8)
    return [Shown(k + 0.5, bytes(cv2.imencode(".jpg", picture)[1])) for k, picture in enumerate(pictures)]


def test_it_sees_every_picture_and_answers_the_same_twice(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "shown", noise)
    one = item(video="x.mp4")
    model = LocalModel(tiny, Asking(bench(one), Look(), tokens=8))
    seen = []
    vision = model.load()[0].model.visual
    handle = vision.register_forward_hook(lambda module, args, out: seen.append(args[0].shape[0]))
    first, second = model.answer(one), model.answer(one)
    handle.remove()
    assert first.error is None and first.frames == 3 and first.finish == "length" and first.text.startswith("<think>")
    assert first.text == second.text
    # 64 x 48 pixels are 4 x 2 or more patches of 16: each picture has its own, once for each reply
    assert len(seen) == 2 and seen[0] == seen[1] and seen[0] % 3 == 0 and seen[0] >= 3 * 4
    blind = LocalModel(tiny, Asking(bench(one), None, tokens=8, reasoning=False)).answer(one)
    assert blind.error is None and blind.frames == 0 and not blind.text.startswith("<think>")


def test_a_folder_that_is_no_such_model_is_said(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "nothing"}')
    with pytest.raises(FormatError, match="cannot be loaded as a model of images and text"):
        LocalModel(tmp_path, Asking(bench(item()), None)).answer(item())
