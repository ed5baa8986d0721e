"""Two processes under ZeRO-2: stopped and resumed at the right step; the completions of a prompt judged together."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ml import torchside
from ml.training import folder, launch
from ml.training.folder import RunFolder
from tests.ml.endpoint.server import Server, said, says
from tests.ml.training import running, two_processes

pytestmark = pytest.mark.skipif(bool(torchside.missing()), reason="the packages of `make ml` are not installed")
CANDIDATE = re.compile(r"=+ candidate (\w+) begins\n(.*?)\n=+ candidate \1 ends", re.DOTALL)
Model = Callable[[str], Path]


def ranking(body: dict[str, Any]) -> Any:
    """A judge whose measure anybody can check: the text that comes first in the alphabet is the best."""
    found = CANDIDATE.findall(said(body))
    texts = sorted({text for _, text in found})
    return says({"ranking": [[id for id, text in found if text == one] for one in texts]})


def test_two_processes_train_stop_resume_and_keep_groups_together(
    tiny_model: Model, tiny_snapshot: Path, tmp_path: Path
) -> None:
    with Server(ranking) as judge:
        arguments = [str(tiny_snapshot), str(tiny_model("qwen3-vl")), str(tmp_path), judge.config().url]
        command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        done = subprocess.run(
            [sys.executable, *command, "-m", "tests.ml.training.two_processes", *arguments],
            env=os.environ | launch.OFFLINE | {"DS_ACCELERATOR": "cpu", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=280,
        )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]

    sft = RunFolder(tmp_path / "sft")
    assert sft.state() == folder.State("done", 6, 6, attempt=2, resumed_from=two_processes.STOPPED)
    lines = running.metrics(sft.path)
    assert [line["step"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert sft.steps() == [4, 6]  # the two newest; the one of the stop made way
    shards = sft.step_folder(6) / "global_step6"
    assert len(list(shards.glob("*zero_pp_rank_*_optim_states.pt"))) == 2  # each process has half of the optimizer
    # two processes with a batch of 1 see the items of one process with a batch of 2: the same losses but for bfloat16
    from tests.ml.training.test_sft_grpo import CURVES

    assert [line["loss"] for line in lines] == pytest.approx(CURVES["sft qwen3-vl"], abs=0.05)
    assert [line["num_tokens"] for line in lines] == sorted(line["num_tokens"] or 0 for line in lines)

    check_groups(judge, running.rollouts(tmp_path / "grpo"))


def check_groups(judge: Server, lines: list[dict[str, Any]]) -> None:
    """Every request shows exactly the K completions of one prompt, and each has its own score."""
    groups = [[one["text"] for one in line["completions"]] for line in lines]
    assert len(lines) == 6 and all(len(texts) == 4 for texts in groups)  # 2 steps of 3 prompts
    shown = [sorted(text for _, text in CANDIDATE.findall(said(body))) for body in judge.asked]
    assert sorted(shown) == sorted(sorted(texts) for texts in groups for _ in range(2))  # in two orders each
    for line, texts in zip(lines, groups, strict=True):
        best = sorted(texts)
        for one in line["completions"]:
            ties = [at for at, text in enumerate(best) if text == one["text"]]
            assert one["rewards"]["comparative-judge"] == pytest.approx(1 - sum(ties) / len(ties) / 3, abs=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("parallel", ("zero2", "none"))
def test_the_command_starts_its_processes_and_survives_a_kill(
    parallel: str, tiny_model: Model, tiny_snapshot: Path, tmp_path: Path
) -> None:
    from tests.ml.training.test_sft_grpo import wait_for

    model, out = tiny_model("qwen3-vl"), tmp_path / "run"
    half = ("model.precision=bf16",) if parallel == "zero2" else ()
    sets = (*half, "train.processes=2", f"train.parallel={parallel}", "train.per_device_batch=1", "train.max_steps=12")
    more = ("run.save_steps=2", "run.tensorboard=false", "train.seed=5")
    with running.process("sft", tiny_snapshot, model, out, *sets, *more) as victim:
        wait_for(lambda: len(running.metrics(out)) >= 3, victim, 240)
        victim.kill()  # torchrun; its processes may not outlive it
    run = RunFolder(out)
    until_free(run)
    kept = run.newest()
    assert kept is not None and kept >= 2
    with running.process("sft", tiny_snapshot, model, out, *sets, *more) as again:
        told, _ = again.communicate(timeout=280)
    assert again.returncode == 0, told
    assert run.state() == folder.State("done", 12, 12, attempt=2, resumed_from=kept)
    assert [line["step"] for line in running.metrics(out)] == list(range(1, 13))


def until_free(run: RunFolder, seconds: float = 20) -> None:
    import time

    until = time.monotonic() + seconds
    while folder.is_held(run):
        assert time.monotonic() < until, "a process of the killed run goes on"
        time.sleep(0.1)
