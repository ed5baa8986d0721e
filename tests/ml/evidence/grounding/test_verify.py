"""The stored check: that it passes what is right, and says what is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml import backends
from ml.evidence.grounding import verify
from ml.evidence.grounding.protocol import Footage
from ml.perception import registry as perception
from ml.perception.gestures.protocol import People
from tests.ml.evidence.grounding.scripted import SIZE, Script, Scripted, Thing, footage

FRAMES = 60
SHOTS = [
    {"name": "A", "start": 0, "end": 20, "persons": ["x", "y"]},
    {"name": "B", "start": 20, "end": 40, "persons": ["x"]},
    {"name": "C", "start": 40, "end": 60, "persons": ["x", "y", "z"]},
]  # fmt: skip


def standing(count: int, start: int, shift: int = 0) -> list[Thing]:
    places = [(20 + 100 * k + shift, 20, 80 + 100 * k + shift, 170) for k in range(count)]
    return [Thing("people", start, start + 20, lambda f, box=box: box) for box in places]  # type: ignore[misc]


RIGHT = [thing for shot in SHOTS for thing in standing(len(shot["persons"]), shot["start"])]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Footage:
    video = footage(tmp_path_factory.mktemp("numbers"), FRAMES, [(0, 20), (20, 40), (40, 60)])
    rows = [(f, k, t.where(f)) for f in range(0, FRAMES, 5) for k, t in enumerate(RIGHT) if t.start <= f < t.end]
    body = (np.array([box for _, _, box in rows]) / [SIZE[1], SIZE[0], SIZE[1], SIZE[0]]).astype(np.float32)
    frame, person = (np.array([row[k] for row in rows], np.int64) for k in (0, 1))
    return replace(video, people=People(frame, person, body, np.full_like(body, np.nan)))


def check(known: Footage, things: Sequence[Thing], **script: Any) -> verify.Outcome:
    return verify.check(Scripted(Script(things, **script)), known, SHOTS, progress=lambda share: None, per_shot=3)


def test_what_is_right_passes_with_its_numbers(known: Footage) -> None:
    outcome = check(known, RIGHT)
    assert outcome.passed and outcome.absent == 0
    assert [(s.persons, s.found, s.objects, s.within) for s in outcome.shots] == [
        (2, 2, 2, True), (1, 1, 1, True), (3, 3, 3, True),
    ]  # fmt: skip
    assert all(s.overlap > 0.95 for s in outcome.shots)


@pytest.mark.parametrize(
    ("things", "said"),
    [
        pytest.param([], "Shot A: 0 people where there are 2.", id="nobody"),
        pytest.param(standing(2, 0, 40) + RIGHT[2:], "Shot A: overlap 0.20, less than 0.6.", id="elsewhere"),
        pytest.param(RIGHT[:1] + RIGHT[2:3] + RIGHT[3:4] + RIGHT[4:5],
                     "The number of people is right in 1 shots, fewer than 3.", id="one too few, twice"),
        pytest.param([*RIGHT, Thing("giraffe", 0, 60, lambda f: (300, 0, 320, 20))],
                     '"giraffe", which is nowhere, was found on 100% of the frames.', id="what is not there"),
        pytest.param([*RIGHT, *(Thing("people", f, f + 1, lambda f: (0, 0, 10, 10)) for f in (20, 30, 35))],
                     "Shot B: 4 identities of 1 people.", id="identities"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(known: Footage, things: list[Thing], said: str) -> None:
    outcome = check(known, things)
    assert not outcome.passed and said in outcome.said


def test_a_model_that_fails_does_not_pass(known: Footage) -> None:
    outcome = check(known, RIGHT, fails="people")
    assert not outcome.passed and "SAM 3 failed on" in outcome.said[0]


@pytest.mark.xdist_group("torch")
@pytest.mark.parametrize(
    ("stored", "state"),
    [
        (None, "Ready; not verified with released weights."),
        ({"passed": True}, "Ready; passed the check on the demo clip on 2026-12-01 with model.safetensors "),
        ({"passed": False}, "Ready; not verified with released weights: not passed, the check on the demo clip on"),
        ({"passed": True, "other": True}, "Ready; not verified with released weights: the check of 2026-12-01 was of"),
    ],
)
def test_the_list_of_backends_says_what_was_verified(
    tiny_sam3: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: dict[str, bool] | None, state: str
) -> None:
    from ml.evidence.grounding import sam3_weights

    monkeypatch.setenv("SIGHTLINE_SAM3_WEIGHTS", str(tiny_sam3))
    monkeypatch.setenv("SIGHTLINE_WEIGHTS", str(tmp_path))
    monkeypatch.setattr(backends.cache, "root", lambda: tmp_path)
    if stored is not None:
        weights = {"model.safetensors": "0" * 64} if "other" in stored else sam3_weights.hashes(tiny_sam3)
        (tmp_path / "verified").mkdir()
        record = {"when": "2026-12-01T12:00:00+00:00", "passed": stored["passed"], "about": {"weights": weights}}
        (tmp_path / "verified" / "sam3.json").write_text(json.dumps(record))
    found = {(b.kind, b.name): b for b in backends.listing()}
    sam3 = found["grounder", "sam3"]
    assert sam3.ready and sam3.state.startswith(state) and sam3.licence == "SAM License"
    assert sam3.weights == {"model.safetensors": True}
    assert found["person tracker", "sam3-people"].state == sam3.state
    assert "not verified with released weights" in found["grounder", "sam3-official"].state
    nanodet = found["persons and objects", "nanodet"]
    assert not nanodet.ready and nanodet.weights == {"nanodet.onnx": False} and "make weights" in nanodet.state


def test_every_registered_backend_is_listed() -> None:
    from ml.evidence.grounding import registry as grounders
    from ml.evidence.summarisers import registry as summarisers
    from ml.perception.gestures import registry as gestures

    assert set(backends.PERCEPTION) == set(perception.BACKENDS)
    found = backends.listing()
    for kind, names in (
        ("gestures", gestures.DETECTORS), ("summariser", summarisers.SUMMARISERS), ("grounder", grounders.GROUNDERS),
    ):  # fmt: skip
        assert [b.name for b in found if b.kind == kind] == list(names)
    assert all(b.licence and b.state for b in found)
    said = "\n".join(backends.lines(found))
    assert said.count("not verified with released weights") >= 3 or "passed the check" in said


@pytest.mark.long
def test_random_weights_run_through_the_whole_check_and_do_not_pass(tmp_path: Path) -> None:
    """By the command itself, which says so by its exit code; and the list of backends shows it."""
    pytest.importorskip("torch", reason="torch is not installed; `make ml` installs it.")
    from ml.weights import cache
    from tests.ml.evidence.grounding import tiny

    weights = tiny.write(tmp_path / "weights", new_det_thresh=0.255)
    home = tmp_path / "cache" / "sightline"
    home.mkdir(parents=True)
    for name in ("packages", verify.CLIP):
        if (cache.root() / name).exists():
            (home / name).symlink_to(cache.root() / name)
    environment = os.environ | {
        "XDG_CACHE_HOME": str(tmp_path / "cache"), "SIGHTLINE_WEIGHTS": str(cache.folder()), "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1", "SIGHTLINE_SAM3_WEIGHTS": str(weights),
    }  # fmt: skip
    command = [sys.executable, "manage.py", "verify-backend", "sam3", "--json", str(tmp_path / "result.json")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1, done.stderr
    assert "sam3: NOT passed" in done.stdout and "people where there are" in done.stdout
    result = json.loads((tmp_path / "result.json").read_text())
    assert not result["passed"] and len(result["shots"]) == 5
    listed = subprocess.run(
        [sys.executable, "manage.py", "backends"], capture_output=True, text=True, env=environment, check=True
    )
    assert "not verified with released weights: not passed, the check on the demo clip" in listed.stdout
