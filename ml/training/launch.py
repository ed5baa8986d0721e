"""How the processes of a run are started: one Python, or torchrun with as many as the configuration says.

`python -m ml.training.sft|grpo` calls this itself; on a cluster whose launcher sets RANK and WORLD_SIZE (torchrun,
accelerate), each process finds itself launched and nothing is started again. ZeRO-2's settings are in
`presets/zero2.json`; on a CPU DeepSpeed needs to be told so, and its shared-memory operator, which would be compiled
for four minutes, is left out in favour of gloo.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ml.training.configs import Config

ZERO2 = Path(__file__).with_name("presets") / "zero2.json"
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "DS_DISABLE_TELEMETRY": "1"}


def wanted(config: Config) -> bool:
    """Whether several processes have to be started."""
    return config.train.processes > 1


def launched(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a launcher started this process."""
    return "RANK" in environ and "WORLD_SIZE" in environ


def command(stage: str, config: Config, words: Sequence[str] = ()) -> list[str]:
    """The command for all processes of a run on this machine; `words` are the stage's own arguments."""
    module = ["-m", f"ml.training.{stage}", *words]
    if not wanted(config):
        return [sys.executable, *module]
    several = ["--standalone", "--nproc-per-node", str(config.train.processes)]
    return [sys.executable, "-m", "torch.distributed.run", *several, *module]


def environment(config: Config) -> dict[str, str]:
    """What the processes find in their environment, beside what is there. What the user set stays."""
    told = dict(OFFLINE)
    if config.model.device == "cpu":
        told |= {"DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    elif not wanted(config):
        told["CUDA_VISIBLE_DEVICES"] = "0"  # with more GPUs in sight, one process would copy the model to each
    threads = config.model.threads or (1 if wanted(config) and config.model.device == "cpu" else 0)
    if threads:
        told["OMP_NUM_THREADS"] = str(threads)
    return {name: value for name, value in told.items() if name not in os.environ}


def replace_process(stage: str, config: Config, words: Sequence[str]) -> None:
    """Become the launcher of all processes. Does not return."""
    told = command(stage, config, words)
    sys.stdout.flush()
    together = {"SIGHTLINE_DIE_WITH_PARENT": "1"}  # its processes do not outlive the launcher
    os.execve(told[0], told, dict(os.environ) | environment(config) | together)


def settle(config: Config) -> None:
    """Set the environment of this process before torch is loaded."""
    os.environ.update(environment(config))
    if config.train.parallel == "zero2" and not launched():  # DeepSpeed asks a launcher for ranks, else MPI
        address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        os.environ.update({"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", **address})


def free_port() -> int:
    """A port of this machine that nobody listens at just now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
