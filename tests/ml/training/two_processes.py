"""One of two processes that train together, started by torchrun: several runs, one after the other, in one start.

    torchrun --nproc-per-node 2 -m tests.ml.training.two_processes SNAPSHOT MODEL WORK ADDRESS

SFT under ZeRO-2, stopped and resumed, and GRPO with a judge at ADDRESS, into folders of WORK.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ml.training.folder import RunFolder
from tests.ml.training import running

ZERO2 = ("train.processes=2", "train.parallel=zero2", "model.precision=bf16")
SFT = (*ZERO2, "train.per_device_batch=1", "run.tensorboard=false")
STOPPED = 3  # steps of SFT before the stop; checkpoints fall on the second and the fourth
GRPO = (
    *ZERO2,
    "train.per_device_batch=2",
    "train.accumulation=3",  # 6 completions in each process: of three prompts with 4, one is in both
    "train.max_steps=2",
    "rewards.weights={accuracy: 1.0, comparative-judge: 0.5}",
    "run.tensorboard=false",
)


def main() -> int:
    snapshot, model, work, address = sys.argv[1:]
    folders = Path(snapshot), Path(model)
    os.environ["SIGHTLINE_ENDPOINT_URL"], os.environ["SIGHTLINE_ENDPOINT_MODEL"] = address, "scripted"
    os.environ["SIGHTLINE_ENDPOINT_RATE"] = "6000"
    sft = RunFolder(Path(work) / "sft")
    if os.environ["RANK"] == "0":
        stop_after(sft, STOPPED - 1)
    codes = [running.run("sft", *folders, sft.path, *SFT, "run.save_steps=2")]
    codes.append(running.run("sft", *folders, sft.path, *SFT, "run.save_steps=2"))
    codes.append(running.run("sft", *folders, sft.path, *SFT))  # done: both see it and leave
    codes.append(running.run("grpo", *folders, Path(work) / "grpo", *GRPO))
    print("codes", codes)
    return max(codes)


def stop_after(run: RunFolder, step: int) -> None:
    """Ask to stop, once, as soon as the metrics of that step are there."""
    from ml.training import callbacks, folder

    append = folder.append

    def written(path: Path, trees: object) -> None:
        lines = list(trees)  # type: ignore[call-overload]
        append(path, lines)
        if path == run.metrics and lines[-1]["step"] == step:
            run.ask_to_stop()

    callbacks.folder.append = written


if __name__ == "__main__":
    sys.exit(main())
