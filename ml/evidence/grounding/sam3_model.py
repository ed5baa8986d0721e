"""SAM 3 by transformers. Imported only where it is loaded: this needs the packages of `make ml`.

The model's own suppression of overlapping detections needs code from a model hub and is left out without it, with one
warning; here it is never fetched, and `suppression` does the work, so that a machine's packages do not decide a result.
A session lives as long as one call of `look`, keeps the features of one picture, and of the past only what the tracker
looks back at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ml import torchside
from ml.evidence.grounding.engine import Image, Seen
from ml.evidence.grounding.suppression import MOST_IOU, SPECK, best_of_overlapping

torch, hf = torchside.load("SAM 3")
library: Any = import_module("transformers.models.sam3_video.modeling_sam3_video")
library.cv_utils_kernel = False  # "was looked for and is not there": no code is fetched from a hub
hf.utils.logging.set_verbosity_error()
hf.utils.logging.disable_progress_bar()

MOST_OBJECTS = 64  # followed at a time, all phrases of a pass together
DECIDING = (
    "score_threshold_detection", "new_det_thresh", "det_nms_thresh", "assoc_iou_thresh", "trk_assoc_iou_thresh",
    "hotstart_delay", "hotstart_unmatch_thresh", "hotstart_dup_thresh", "max_trk_keep_alive",
    "recondition_every_nth_frame", "high_conf_thresh", "high_iou_thresh",
)  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """What differs from the model's configuration. `detection`: least score of a detection (None: as configured).
    `objects`: how many are followed at a time; shared alike between the phrases of a pass."""

    detection: float | None = None
    objects: int = MOST_OBJECTS


Base: Any = hf.Sam3VideoModel


class Model(Base):
    """The model with its detections thinned."""

    most_of_a_phrase = MOST_OBJECTS

    def run_detection(self, inference_session: Any, vision_embeds: Any) -> dict[int, dict[str, Any]]:
        found = super().run_detection(inference_session=inference_session, vision_embeds=vision_embeds)
        return {phrase: self.thinned(detections) for phrase, detections in found.items()}

    def thinned(self, detections: dict[str, Any]) -> dict[str, Any]:
        """Of overlapping detections the best; of those the best so many."""
        score = detections["scores"].float().cpu().numpy()
        kept = np.flatnonzero(best_of_overlapping((detections["mask"] > 0).cpu().numpy(), score, MOST_IOU))
        kept = np.sort(kept[np.argsort(-score[kept], kind="stable")][: self.most_of_a_phrase])
        rows = torch.as_tensor(kept, device=detections["scores"].device)
        return {name: values[rows] for name, values in detections.items()}


class Transformers:
    """The engine. Raises OSError or ValueError from transformers when the folder cannot be loaded."""

    at_once = 16

    def __init__(self, folder: Path, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.dtype = torch.bfloat16 if self.device == "cuda" else torch.float32
        self.processor = hf.AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        model = Model.from_pretrained(folder, local_files_only=True, use_safetensors=True, dtype=self.dtype)
        self.model = model.to(self.device).eval()
        if self.limits.detection is not None:
            self.model.score_threshold_detection = self.limits.detection
        tracker = self.model.config.tracker_config
        self.looks_back = max(tracker.num_maskmem, tracker.max_object_pointers_in_encoder)

    def tokens(self, phrase: str) -> int:
        return len(self.processor.tokenizer(phrase).input_ids)

    def settings(self) -> dict[str, Any]:
        return {
            **{name: getattr(self.model, name, None) for name in DECIDING},
            **{f"limit_{name}": value for name, value in asdict(self.limits).items()},
            "most_iou": MOST_IOU,
            "speck": SPECK,
            "device": self.device,
            "dtype": str(self.dtype).removeprefix("torch."),
            "packages": {"torch": torch.__version__, "transformers": hf.__version__},
        }

    @torch.inference_mode()
    def look(self, pictures: Iterator[Image], phrases: Sequence[str]) -> Iterator[Seen]:
        session = self.session(pictures)
        try:
            if session.num_frames:
                self.model.max_num_objects = self.limits.objects
                self.model.most_of_a_phrase = max(1, self.limits.objects // len(phrases))
                self.processor.add_text_prompt(session, list(phrases))
                for out in self.model.propagate_in_video_iterator(inference_session=session, start_frame_idx=0):
                    yield self.seen(session, out, phrases)
                    self.forget(session, out.frame_idx)
        finally:
            release(session)

    def session(self, pictures: Iterator[Image]) -> Any:
        """A session with all pictures, prepared one by one, in ordinary memory."""
        session = self.processor.init_video_session(
            inference_device=self.device, video_storage_device="cpu", max_vision_features_cache_size=1, dtype=self.dtype
        )
        for picture in pictures:
            made = self.processor(images=np.ascontiguousarray(picture[..., ::-1]), return_tensors="pt")
            session.add_new_frame(made["pixel_values"][0])
            session.video_height, session.video_width = picture.shape[:2]
        return session

    def seen(self, session: Any, out: Any, phrases: Sequence[str]) -> Seen:
        found = self.processor.postprocess_outputs(session, out)
        objects = found["object_ids"].numpy().astype(np.int64)
        prompts = [session.prompts[session.obj_id_to_prompt_id[number]] for number in objects.tolist()]
        tracked = [float(out.obj_id_to_tracker_score.get(number, np.nan)) for number in objects.tolist()]
        return Seen(
            position=int(out.frame_idx),
            object=objects,
            phrase=np.array([phrases.index(prompt) for prompt in prompts], np.int64),
            score=found["scores"].float().numpy().astype(np.float32),
            tracker_score=np.array(tracked, np.float32),
            masks=found["masks"].cpu().numpy(),
            full=len(session.obj_ids) >= self.limits.objects,
        )

    def forget(self, session: Any, frame: int) -> None:
        """Drop what the tracker does not look back at any more, and the picture."""
        session.processed_frames[frame] = None
        for outputs in session.output_dict_per_obj.values():
            past = outputs["non_cond_frame_outputs"]
            for old in [number for number in past if number < frame - self.looks_back]:
                del past[old]


def release(session: Any) -> None:
    """Give back a session's memory now, whoever still holds it."""
    session.reset_state()
    session.mask_inputs_per_obj.clear()
    session.processed_frames = None
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
