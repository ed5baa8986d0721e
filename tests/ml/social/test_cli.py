"""The command line: `python -m ml.social.events IN.json OUT.json`."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ml.formats import grasp_events, grasp_gaze
from ml.social.events.__main__ import main
from ml.social.grasp import scene_of
from tests.ml.formats.mutations import mutated

FACES = {0: (0.2, 0.5), 3: (0.8, 0.5)}


def gaze_file(seconds: float = 4.0, rate: float = 2.0, fps: float = 30.0, **head: Any) -> dict[str, Any]:
    """Persons 0 and 3 look at each other all the time."""
    frames = []
    for at in range(round(seconds * rate)):
        persons = []
        for number, (x, y) in FACES.items():
            box = [x - 0.05, y - 0.05, x + 0.05, y + 0.05]
            aim = list(FACES[3 - number])
            persons.append(
                {
                    "person_id": number,
                    "body_bbox": None,
                    "face_bbox": box,
                    "head_bbox": box,
                    "gaze_point": aim,
                    "inout": True,
                    "face_detected": True,
                }
            )
        frames.append({"frame_idx": round(at / rate * fps), "timestamp": at / rate, "persons": persons})
    return {
        "video_path": "a.mp4",
        "video_fps": fps,
        "sample_fps": rate,
        "total_frames": round(seconds * fps),
        "processed_frames": len(frames),
        "persons_summary": {},
        "frames": frames,
    } | head


def written(tmp_path: Path, tree: Any, *options: str) -> grasp_events.EventsFile:
    (tmp_path / "in.json").write_text(json.dumps(tree))
    assert main([str(tmp_path / "in.json"), str(tmp_path / "out.json"), *options]) == 0
    return grasp_events.parse((tmp_path / "out.json").read_bytes())


def test_strict_writes_half_open_events(tmp_path: Path) -> None:
    events = written(tmp_path, gaze_file(width=640, height=480), "--preset", "strict")
    (event,) = events.events
    assert (event.event_id, event.event_type, event.persons_involved) == (4000, "mutual_gaze", (0, 3))
    # 8 samples, the last at 3.5 s (frame 105) speaks up to the end, 4.0 s (frame 120).
    assert (event.start_time, event.end_time, event.start_frame, event.end_frame) == (0.0, 4.0, 0, 120)
    assert event.confidence == 1.0 and event.details["num_samples"] == 8
    assert events.extra["preset"] == "strict" and events.extra["aspect"] == pytest.approx(4 / 3)
    assert events.extra["parameters"]["mutual_shortest_s"] == 1.0


def test_compat_writes_released_events(tmp_path: Path) -> None:
    events = written(tmp_path, gaze_file(), "--preset", "grasp-compat")
    (event,) = events.events
    # Last sample 3.5 s; 0.5 + 0.1 x 8 = 1.3, at most 1.
    assert (event.start_time, event.end_time, event.end_frame, event.confidence) == (0.0, 3.5, 105, 1.0)
    assert {"duration": 3.5, "num_frames": 8}.items() <= event.details.items()
    head = json.loads((tmp_path / "out.json").read_text())
    assert (head["video_path"], head["video_fps"], head["sample_fps"], head["num_events"]) == ("a.mp4", 30.0, 2.0, 1)
    assert head["event_counts"]["mutual_gaze"] == 1


def test_a_zero_length_event_stays_zero_in_the_file(tmp_path: Path) -> None:
    tree = gaze_file()
    corners = {0: [0.05, 0.05], 3: [0.95, 0.05], 5: [0.05, 0.95]}
    for frame in tree["frames"]:
        frame["persons"].append(dict(frame["persons"][0], person_id=5))
        for person in frame["persons"]:
            person["gaze_point"] = corners[person["person_id"]] if frame["timestamp"] >= 2 else [0.5, 0.5]
    events = written(tmp_path, tree, "--preset", "grasp-compat")
    (capture,) = [event for event in events.events if event.event_type == "attention_capture"]
    assert capture.start_time == capture.end_time == 2.0 and capture.start_frame == capture.end_frame == 60


def test_frame_numbers_of_the_file_are_trusted(tmp_path: Path) -> None:
    tree = gaze_file()
    for frame in tree["frames"]:
        frame["frame_idx"] = frame["frame_idx"] * 2 + 7  # not frames = timestamp x fps
    tree["total_frames"] = None
    (event,) = written(tmp_path, tree).events
    assert (event.start_frame, event.start_time) == (7, 0.0)
    assert (event.end_frame, event.end_time) == (7 + 240, 4.0)


def test_shots_in_the_head_part_events(tmp_path: Path) -> None:
    events = written(tmp_path, gaze_file(shots=[[0, 50], [50, 120]])).events
    assert [(event.start_frame, event.end_frame) for event in events] == [(0, 50), (60, 120)]


def test_the_least_confidence_is_kept(tmp_path: Path) -> None:
    # 3 samples: 0.5 + 0.3 = 0.8 in the released rules.
    tree = gaze_file(1.5)
    assert len(written(tmp_path, tree, "--preset", "grasp-compat", "--min-confidence", "0.8").events) == 1
    assert len(written(tmp_path, tree, "--preset", "grasp-compat", "--min-confidence", "0.9").events) == 0


def test_gaps_are_filled(tmp_path: Path) -> None:
    tree = gaze_file(6.0)
    for at, frame in enumerate(tree["frames"]):
        for person in frame["persons"]:
            person["gaze_point"] = [0.5, 0.9]
            person["inout"] = not (4 <= at < 6)
    (event,) = [
        e for e in written(tmp_path, tree, "--preset", "grasp-compat").events if e.event_type == "joint_attention"
    ]
    # Two lost samples of twelve are interpolated with confidence 0.8: (10 x 1 + 2 x 0.8) / 12.
    assert event.confidence == pytest.approx(11.6 / 12) and event.details["num_frames"] == 12


def test_without_a_size_it_says_what_it_assumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, gaze_file())
    assert "the picture is taken as 16:9" in capsys.readouterr().err
    written(tmp_path, gaze_file(width=4, height=3))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda t: t["frames"][3]["persons"][0].update(face_bbox=[1, 2]),
            "frames[3].persons[0].face_bbox: expected 4 numbers, found [1, 2].",
        ),
        (lambda t: t.pop("frames"), "The field frames is missing."),
        (lambda t: t["frames"][1].update(timestamp="x"), 'frames[1].timestamp: expected a number, found "x".'),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_exit_2(
    change: Any, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = gaze_file()
    change(tree)
    (tmp_path / "in.json").write_text(json.dumps(tree))
    assert main([str(tmp_path / "in.json"), str(tmp_path / "out.json")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"{tmp_path / 'in.json'}: {sentence}") and error.count("\n") == 1
    assert not (tmp_path / "out.json").exists()


def test_files_that_cannot_be_opened_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.json"), str(tmp_path / "out.json")]) == 2
    assert capsys.readouterr().err == f"{tmp_path / 'none.json'}: No such file or directory.\n"
    (tmp_path / "in.json").write_text(json.dumps(gaze_file()))
    assert main([str(tmp_path / "in.json"), str(tmp_path / "no" / "out.json")]) == 2
    assert "No such file or directory." in capsys.readouterr().err


def test_a_file_without_frames_or_persons_has_no_events(tmp_path: Path) -> None:
    for tree in (gaze_file(frames=[]), gaze_file(frames=[{"frame_idx": 0, "timestamp": 0, "persons": []}])):
        for preset in ("strict", "grasp-compat"):
            assert written(tmp_path, tree, "--preset", preset).events == []


def test_a_hidden_or_empty_face_is_no_face() -> None:
    tree = gaze_file()
    tree["frames"][0]["persons"][0]["face_detected"] = False
    tree["frames"][1]["persons"][0]["face_bbox"] = [0, 0, 0, 0]
    scene = scene_of(grasp_gaze.parse(json.dumps(tree)))
    assert [bool(x) for x in scene.face[:3, 0, 0] == scene.face[:3, 0, 0]] == [False, False, True]


def test_it_runs_as_a_module_without_heavy_imports(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(json.dumps(gaze_file()))
    root = Path(__file__).parents[3]
    command = [sys.executable, "-m", "ml.social.events", str(tmp_path / "in.json"), str(tmp_path / "out.json")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"1 event written to {tmp_path / 'out.json'}\n"
    heavy = "{'django', 'torch', 'onnxruntime', 'cv2', 'lap', 'scipy', 'pyarrow', 'av'} & set(sys.modules)"
    script = f"import sys, ml.social.events.__main__, ml.social.display; sys.exit(str({heavy} or ''))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=root, check=False)
    assert loaded.stderr.strip() == ""


@pytest.mark.parametrize("block", range(4))
def test_whatever_can_be_read_can_be_searched(block: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Odd but readable files must not break the detectors; unreadable ones end in a sentence.
    source = tmp_path / "in.json"
    for seed in range(block * 60, block * 60 + 60):
        source.write_bytes(mutated(gaze_file(3.0, shots=[[0, 40], [40, 90]]), random.Random(seed)))
        for preset in ("strict", "grasp-compat"):
            code = main([str(source), str(tmp_path / "out.json"), "--preset", preset])
            assert code in (0, 2)
            if code == 0:
                grasp_events.parse((tmp_path / "out.json").read_bytes())
            else:
                assert capsys.readouterr().err.endswith(".\n")
