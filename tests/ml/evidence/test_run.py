"""An audit in a folder, from the command line: the same bytes again, stopped and resumed, and what is wrong said."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from ml.evidence import folder, run
from ml.evidence.grounding import registry
from ml.evidence.summarisers.protocol import BrokenOutput
from ml.evidence.summarisers.rules import Rules
from ml.formats import responses as response_files
from ml.media import masks as masks_file
from tests.ml.evidence.test_pipeline import TEXT, Finder

FRAMES, KILLS = 40, 20


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("video") / "clip one.mp4"
    with av.open(str(path), "w") as file:
        stream: Any = file.add_stream("libx264", rate=10, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for k in range(FRAMES):
            picture = np.full((48, 64, 3), 3 * k, np.uint8)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        file.mux(stream.encode())
    return path


def tree(**more: Any) -> dict[str, Any]:
    plain = {
        "video": "clip one.mp4", "clip_start": 0, "clip_end": 4, "rendering": "tags", "person_map": {"1": 1, "2": 2},
        "question": "What is there?", "options": ["A) A dog", "B) A cup"], "answer": "B", "model": "m", "text": TEXT,
        "key": "B",
    }  # fmt: skip
    return plain | more


def lines(path: Path, *trees: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in trees))
    return path


@pytest.fixture
def given(tmp_path: Path) -> Path:
    second = tree(text="<think>At 1 s there is a cup.</think><answer>A</answer>", answer="A", id="two", clip_start=1.0)
    return lines(tmp_path / "responses.jsonl", tree(), second, tree(rendering="clean", person_map={}))


@pytest.fixture
def finder(monkeypatch: pytest.MonkeyPatch) -> Finder:
    made = Finder()
    monkeypatch.setattr(registry, "load", lambda name, weights=None: made)
    return made


def content(out: Path) -> dict[str, bytes]:
    return {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}


def jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def call(video: Path, responses: Path, out: Path, *more: str) -> int:
    return run.main([str(video), str(responses), "--out", str(out), *more])


def test_a_folder_holds_everything(video: Path, given: Path, tmp_path: Path, finder: Finder, capsys: Any) -> None:
    out = tmp_path / "out"
    assert call(video, given, out) == 0
    assert capsys.readouterr().out.startswith("3 responses, 13 claims (")
    assert sorted(p.name for p in out.iterdir()) == [
        "deletions.jsonl", "groundings", "packages.jsonl", "report.csv", "report.html", "report.json",
        "responses.jsonl", "run.json", "verdicts.jsonl",
    ]  # fmt: skip
    asked = jsonl(out / "responses.jsonl")
    assert [one["id"] for one in asked] == ["r00001", "two", "r00003"]
    assert [one["correct"] for one in asked] == [True, False, True]
    assert asked[1]["clip_frames"] == [10, FRAMES]
    told = jsonl(out / "verdicts.jsonl")
    assert len(told) == 13 and {"verdict", "rule", "numbers", "window", "grounded", "queries"} <= set(told[0])
    by = {(one["response"], one["claim"]): one for one in told}
    assert by["r00001", "c2"]["rule"] == "person_there"
    assert by["r00003", "c2"]["rule"] == "unknown_person"  # a clean clip prints no tags
    masks = masks_file.read(out / "groundings/r00001.parquet")
    assert "c1/phrase-1" in set(masks.query)
    assert masks_file.meta(out / "groundings/r00001.parquet")["grounder"]["name"] == "finder"
    # seconds are those of the clip: 1 s of a clip that begins at 1 s is frame 20
    assert by["two", "c1"]["window"]["span"][0] == 20
    report = json.loads((out / "report.json").read_text())
    assert report["groups"][0]["responses"] == 3


def test_the_same_call_does_nothing_and_another_folder_gets_the_same_bytes(
    video: Path, given: Path, tmp_path: Path, finder: Finder
) -> None:
    assert call(video, given, tmp_path / "a") == 0
    asked, before = len(finder.asked), content(tmp_path / "a")
    assert call(video, given, tmp_path / "a") == 0
    assert len(finder.asked) == asked
    assert call(video, given, tmp_path / "b") == 0
    assert content(tmp_path / "a") == before == content(tmp_path / "b")
    lines(given, tree(text="There is a cup."))
    assert call(video, given, tmp_path / "a") == 0
    assert len(jsonl(tmp_path / "a/responses.jsonl")) == 1


@pytest.mark.parametrize("at", range(1, 9))
def test_stopped_anywhere_it_goes_on(video: Path, given: Path, tmp_path: Path, finder: Finder, at: int) -> None:
    assert call(video, given, tmp_path / "whole") == 0
    whole, expected = len(finder.asked), content(tmp_path / "whole")
    finder.asked.clear()

    def stop(asked: list[str]) -> None:
        if len(finder.asked) == at:
            raise KeyboardInterrupt

    finder.fail = stop
    assert call(video, given, tmp_path / "out") == (run.STOPPED if at <= whole else 0)
    if at > whole:
        return
    assert not (tmp_path / "out/run.json").exists()
    finder.fail = lambda asked: None
    assert call(video, given, tmp_path / "out") == 0
    assert len(finder.asked) == whole + 1
    assert content(tmp_path / "out") == expected


def test_a_full_disk_is_a_sentence(
    video: Path, given: Path, tmp_path: Path, finder: Finder, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "out/groundings")

    with monkeypatch.context() as patch:
        patch.setattr(folder.masks_file, "write", full)
        assert call(video, given, tmp_path / "out") == run.NO_ROOM
    said = capsys.readouterr().err
    assert "No space left on device. What is finished is kept" in said
    assert call(video, given, tmp_path / "out") == 0


def test_a_summary_that_breaks_is_told_and_the_others_go_on(
    video: Path, given: Path, tmp_path: Path, finder: Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Rules.summarise

    def summarise(self: Rules, text: str, **more: Any) -> Any:
        if "A</answer>" in text:
            raise BrokenOutput("The model wrote no JSON.", "{oops")
        return plain(self, text, **more)

    monkeypatch.setattr(Rules, "summarise", summarise)
    assert call(video, given, tmp_path / "out") == 0
    assert jsonl(tmp_path / "out/packages.jsonl")[1] == {
        "response": "two", "error": "The model wrote no JSON.", "raw": "{oops",
    }  # fmt: skip
    assert json.loads((tmp_path / "out/run.json").read_text())["counts"]["broken"] == 1


BAD: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no file": (lambda p: p / "none.jsonl", "none.jsonl"),
    "empty": (lambda p: lines(p / "r.jsonl"), "r.jsonl is empty"),
    "not JSON": (lambda p: (p / "r.jsonl").write_text("{") and p / "r.jsonl" or p, "r.jsonl"),
    "another video": (lambda p: lines(p / "r.jsonl", tree(video="other.mp4")), "they name other.mp4"),
    "behind the end": (lambda p: lines(p / "r.jsonl", tree(clip_end=9)), "a clip from 0 to 9 s does not lie"),
    "no person": (lambda p: lines(p / "r.jsonl", tree(person_map={"1": "Ada"})), "'Ada'"),
    "the same id": (lambda p: lines(p / "r.jsonl", tree(id="x"), tree(id="x")), "2 responses have the id 'x'"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_responses_are_one_sentence(what: str, video: Path, tmp_path: Path, finder: Finder, capsys: Any) -> None:
    make, expected = BAD[what]
    assert call(video, make(tmp_path), tmp_path / "out") == run.BAD_INPUT
    said = capsys.readouterr().err.strip()
    assert expected in said.replace("\n", " ")
    assert "Traceback" not in said
    assert finder.asked == []


def test_bad_videos_folders_and_names_are_one_sentence(
    video: Path, given: Path, tmp_path: Path, finder: Finder, capsys: Any
) -> None:
    text = tmp_path / "clip one.mp4"
    text.write_text("no video")
    for arguments in (
        (tmp_path / "none.mp4", given), (text, given), (video, given, "--perception", str(tmp_path)),
        (video, given, "--summariser", "magic"),
    ):  # fmt: skip
        assert run.main([*map(str, arguments), "--out", str(tmp_path / "out")]) == run.BAD_INPUT
        said = capsys.readouterr().err.strip()
        assert said.endswith(".") and "Traceback" not in said


def test_without_a_map_drawn_tags_are_the_numbers() -> None:
    assert folder.people_of({}, "tags", "") is None
    assert folder.people_of({}, "clean", "") == {}
    assert folder.people_of({"2": 5, "Person 3": "Person 7"}, "grasp", "") == {2: 5, 3: 7}


def test_what_is_read_is_what_the_format_gives(given: Path) -> None:
    assert [one.video for one in response_files.read(given)] == ["clip one.mp4"] * 3


def killed_at(command: list[str], work: Path, claims: int, wait_s: float) -> int:
    """Start the command, and kill it `wait_s` after it has finished so many claims; its exit code."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(list(work.glob("*/c*.json"))) < claims:
        time.sleep(0.005)
    time.sleep(wait_s)
    process.send_signal(signal.SIGKILL)
    return process.wait()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_killed_outright_it_goes_on(video: Path, tmp_path: Path) -> None:
    """The real command with the embedded grounder, killed at 20 random moments; then it ends as if never killed."""
    things = ("cup", "dog", "chair", "giraffe") * 3
    text = " ".join(f"At {k % 4}.5 s there is a {thing}." for k, thing in enumerate(things))
    given = lines(tmp_path / "r.jsonl", tree(text=text), tree(text=text, id="again"))
    out = tmp_path / "out"
    command = [sys.executable, "-m", "ml.evidence.run", str(video), str(given), "--out"]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)
    rng = np.random.default_rng(7)
    for claims in np.sort(rng.integers(0, 2 * len(things), KILLS)).tolist():
        code = killed_at([*command, str(out)], out / "work", claims, float(rng.uniform(0, 0.1)))
        assert code in (-signal.SIGKILL, 0)
        for path in out.glob("work/*/c*.json"):
            assert json.loads(path.read_text())["queries"]
        assert not (out / "run.json").exists() or json.loads((out / "run.json").read_text())["counts"]["claims"] == 24
    subprocess.run([*command, str(out)], check=True, capture_output=True)
    assert content(out) == content(tmp_path / "whole")
