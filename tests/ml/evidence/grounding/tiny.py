"""SAM 3 with 4 million random weights, written as a folder like the released one: it runs, and finds noise.

The tokenizer knows letters and a few words, so that a phrase has one token per letter unless it is made of these.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ml import torchside

SIDE, PATCH = 112, 14
GRID = SIDE // PATCH
WORDS = ["people", "person", "man", "woman", "cup", "table", "in", "red", "plaid", "shirt", "the", "a", "blue", "hat"]


def write(folder: Path, **changes: Any) -> Path:
    """Write config, weights and processor; `changes` are settings of the video model. The same bytes every time."""
    torch, hf = torchside.load()
    torch.manual_seed(7)
    model = hf.Sam3VideoModel(config(hf, **changes)).eval()
    with torch.no_grad():  # the tracker holds on to what it was given
        model.tracker_model.mask_decoder.pred_obj_score_head.proj_out.bias += 2
    model.save_pretrained(folder)
    processor(hf).save_pretrained(folder)
    return folder


def config(hf: Any, **changes: Any) -> Any:
    sizes = [[4 * GRID, 4 * GRID], [2 * GRID, 2 * GRID], [GRID, GRID]]
    backbone = {
        "model_type": "sam3_vit_model", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 2, "image_size": SIDE, "patch_size": PATCH, "window_size": 4, "global_attn_indexes": [1],
        "pretrain_image_size": SIDE,
    }  # fmt: skip
    width = 128

    def vision() -> dict[str, Any]:
        return {
            "model_type": "sam3_vision_model", "backbone_config": dict(backbone), "fpn_hidden_size": width,
            "backbone_feature_sizes": sizes,
        }  # fmt: skip

    layers = {"hidden_size": width, "num_attention_heads": 4, "intermediate_size": 64}
    detector = {
        "model_type": "sam3",
        "vision_config": vision(),
        "text_config": {
            "model_type": "clip_text_model", "vocab_size": 400, "hidden_size": 32, "intermediate_size": 64,
            "projection_dim": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 32,
            "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
        },
        "geometry_encoder_config": {**layers, "num_layers": 1},
        "detr_encoder_config": {**layers, "num_layers": 1},
        "detr_decoder_config": {**layers, "num_layers": 1, "num_queries": 8},
        "mask_decoder_config": {"hidden_size": width, "num_upsampling_stages": 3, "num_attention_heads": 4},
    }  # fmt: skip
    tracker = {
        "model_type": "sam3_tracker_video",
        "vision_config": vision(),
        "prompt_encoder_config": {"hidden_size": width, "image_size": SIDE, "patch_size": PATCH},
        "mask_decoder_config": {
            "hidden_size": width, "mlp_dim": 64, "num_attention_heads": 4, "iou_head_hidden_dim": width,
        },
        "memory_attention_hidden_size": width, "memory_attention_num_layers": 1,
        "memory_attention_feed_forward_hidden_size": 64, "memory_attention_rope_feat_sizes": [GRID, GRID],
        "memory_encoder_hidden_size": width, "memory_encoder_output_channels": 64, "mask_downsampler_embed_dim": width,
        "memory_fuser_num_layers": 1, "memory_fuser_embed_dim": width, "memory_fuser_intermediate_dim": 64,
        "image_size": SIDE,
    }  # fmt: skip
    settings = {"hotstart_delay": 0, "score_threshold_detection": 0.0, "new_det_thresh": 0.0} | changes
    return hf.Sam3VideoConfig(detector_config=detector, tracker_config=tracker, low_res_mask_size=4 * GRID, **settings)


def processor(hf: Any) -> Any:
    size = {"height": SIDE, "width": SIDE}
    image = hf.Sam3ImageProcessor(size=size, mask_size={"height": 4 * GRID, "width": 4 * GRID})
    return hf.Sam3VideoProcessor(
        image_processor=image, video_processor=hf.Sam2VideoVideoProcessor(size=size), tokenizer=tokenizer(hf)
    )


def tokenizer(hf: Any) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = [
        "<pad>",
        "<start>",
        "<end>",
        "<unk>",
        *WORDS,
        *(c for c in map(chr, range(33, 127)) if c not in WORDS),
    ]
    made = Tokenizer(models.WordPiece({word: k for k, word in enumerate(vocabulary)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="<start> $A <end>", special_tokens=[("<start>", 1), ("<end>", 2)]
    )
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<start>", eos_token="<end>", pad_token="<pad>", unk_token="<unk>"
    )
