"""How the processes of a run are started, and that they die with whoever started them. Light."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ml.training import configs, launch
from ml.training.session import DIE_WITH_PARENT

ARGUMENTS = ["--config", "c.yaml", "--out", "run"]
CHILD = (
    "import time; from ml.training.session import die_with_parent\n"
    "die_with_parent(); print('on', flush=True); time.sleep(60)"
)
PARENT = (
    "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', sys.argv[1]])\n"
    "print(child.pid, flush=True); child.wait()"
)


def test_one_process_is_plain_python_and_several_are_torchruns(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DS_ACCELERATOR", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", *launch.OFFLINE):
        monkeypatch.delenv(name, raising=False)
    tiny = configs.load("tiny-cpu", "sft")
    assert launch.command("sft", tiny, ARGUMENTS) == [sys.executable, "-m", "ml.training.sft", *ARGUMENTS]
    told = launch.environment(tiny)
    assert told == launch.OFFLINE | {"DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    paper = configs.load("paper-8xH200", "grpo")
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "8", "-m", "ml.training.grpo"]
    assert launch.command("grpo", paper, ARGUMENTS) == [sys.executable, *several, *ARGUMENTS]
    assert launch.environment(paper) == launch.OFFLINE
    assert launch.environment(configs.load("lora-1gpu", "grpo"))["CUDA_VISIBLE_DEVICES"] == "0"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")  # the user's word stays
    assert "CUDA_VISIBLE_DEVICES" not in launch.environment(configs.load("lora-1gpu", "grpo"))


def test_a_process_that_was_launched_is_not_launched_again() -> None:
    assert not launch.launched({}) and not launch.launched({"RANK": "0"})
    assert launch.launched({"RANK": "0", "WORLD_SIZE": "2"})


@pytest.mark.parametrize("asked", (True, False))
def test_a_process_dies_with_its_parent_where_that_is_asked_for(asked: bool, tmp_path: Path) -> None:
    env = dict(os.environ) | ({DIE_WITH_PARENT: "1"} if asked else {})
    with subprocess.Popen([sys.executable, "-c", PARENT, CHILD], stdout=subprocess.PIPE, text=True, env=env) as parent:
        assert parent.stdout is not None
        said = {parent.stdout.readline().strip(), parent.stdout.readline().strip()}
        child = psutil.Process(int((said - {"on"}).pop()))
        parent.kill()
    try:
        assert gone(child, 10 if asked else 0.3) == asked
    finally:
        if child.is_running():
            child.kill()


def gone(process: psutil.Process, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False
