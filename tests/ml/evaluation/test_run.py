"""The command line: from files to results, resumed, refused, under a control; and two models compared."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from ml.evaluation import compare, folder
from ml.evaluation.bench import Item
from ml.evaluation.models import Reply
from ml.evaluation.run import main
from ml.formats import lmms_eval
from ml.formats.errors import FormatError
from tests.clips import make
from tests.ml.endpoint.server import Answer, Server, says
from tests.ml.evaluation.samples import DAILY, GRASP, bench, item, written


def grasp(id: str, answer: str, game: str, category: str = "T1") -> dict[str, Any]:
    qa = {**GRASP["qa"], "answer": answer, "category": category}
    return GRASP | {"id": id, "video_name": game, "clip_file": f"{id}.mp4", "qa": qa}


ITEMS = [grasp(f"q{k}", "ABCD"[k % 4], f"game{k // 3}", ("T1", "G2", "C1")[k % 3]) for k in range(12)]


def predictions(path: Path, right: set[int], **more: Any) -> Path:
    """Replies: right on some items, A otherwise (B where A is right); naming Person 2 where right."""
    rows = []
    for k in range(12):
        wrong = "B" if k % 4 == 0 else "A"
        person = 2 if k in right else 1
        gaze = f"<think><gaze>Person {person} looks.</gaze></think>"
        rows.append({"id": f"q{k}", "text": f"{gaze}<answer>{'ABCD'[k % 4] if k in right else wrong}</answer>"} | more)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def evaluated(tmp_path: Path, name: str, right: set[int], *more: str) -> Path:
    model = predictions(tmp_path / f"{name}.jsonl", right)
    out = tmp_path / f"out-{name}"
    assert main(["--model", str(model), "--bench", str(bench_file(tmp_path)), "--out", str(out), *more]) == 0
    return out


def bench_file(tmp_path: Path) -> Path:
    return written(tmp_path / "bench.json", ITEMS)


def test_from_files_to_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = evaluated(tmp_path, "m", {0, 1, 2, 3, 4, 5})
    found = json.loads((out / "results.json").read_text())
    assert found["model"]["kind"] == "predictions" and len(found["model"]["sha256"]) == 64
    assert found["bench"]["items"] == 12 and len(found["bench"]["sha256"]) == 64 and len(found["prompt"]) == 64
    assert found["overall"]["accuracy"]["strict"]["value"] == 0.5 and found["overall"]["videos"] == 4
    assert [(row["name"], row["n"]) for row in found["tables"]["group"]] == [("gaze", 4), ("gesture", 4), ("joint", 4)]
    assert found["grounded"]["rho_items"]["value"] == pytest.approx(1) and found["grounded"]["n"] == 12
    assert found["published"]["ours"]["overall"] == 50.0
    items = [json.loads(line) for line in (out / "items.jsonl").read_text().splitlines()]
    assert items[0]["said"]["released"] == ["A"] and items[11]["state"]["released"] == "wrong"
    printed = capsys.readouterr().out
    assert "overall" in printed and "50.0 %" in printed and "Gemini 3.1 Pro" in printed and "this evaluation" in printed


def test_the_log_is_one_that_lmms_eval_leaves_and_can_be_scored_by_its_functions(tmp_path: Path) -> None:
    out = evaluated(tmp_path, "m", {0, 1, 2})
    logs = sorted(path.name for path in (out / "lmms_eval").iterdir())
    date = logs[0].removesuffix("_results.json")
    assert logs == [f"{date}_results.json", f"{date}_samples_grasp_bench.jsonl"] and len(date) == len("20261201_120000")
    samples = [json.loads(line) for line in (out / "lmms_eval" / logs[1]).read_text().splitlines()]
    functions: dict[str, Any] = {"__file__": str(tmp_path / "lmms_eval/utils.py")}
    exec(lmms_eval.utils(), functions)
    scores = []
    for sample, one in zip(samples, ITEMS, strict=True):
        doc = {"options": one["qa"]["options"], "answer": sample["target"], "category": "x", "difficulty": "y"}
        scores.append(functions["process_results"](doc, [sample["resps"][0][0]])["accuracy"]["score"])
    assert scores == [sample["accuracy"]["score"] for sample in samples] == [1, 1, 1] + [0] * 9
    whole = json.loads((out / "lmms_eval" / logs[0]).read_text())
    assert whole["results"]["grasp_bench"]["accuracy,none"] == 0.25
    # and they are predictions again
    back = tmp_path / "back"
    model = out / "lmms_eval" / logs[1]
    assert main(["--model", str(model), "--bench", str(bench_file(tmp_path)), "--out", str(back)]) == 0
    assert json.loads((back / "results.json").read_text())["overall"]["right"] == 3


def test_a_folder_of_another_evaluation_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = evaluated(tmp_path, "m", {0})
    other = predictions(tmp_path / "other.jsonl", {1})
    assert main(["--model", str(other), "--bench", str(bench_file(tmp_path)), "--out", str(out)]) == 2
    assert "holds an evaluation with another model" in capsys.readouterr().err
    changed = written(tmp_path / "changed.json", [*ITEMS[:-1], grasp("q11", "A", "game3")])
    assert main(["--model", str(tmp_path / "m.jsonl"), "--bench", str(changed), "--out", str(out)]) == 2
    assert "with another bench" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--model", "nowhere"], "There is no model nowhere"),
        (["--bench", "nowhere"], "There is no file or folder nowhere"),
        (["--frames", "0"], "begin at 1"),
        (["--limit", "0"], "leaves nothing to ask"),
    ],
)
def test_bad_input_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    model = predictions(tmp_path / "m.jsonl", set())
    plain = ["--model", str(model), "--bench", str(bench_file(tmp_path)), "--out", str(tmp_path / "out")]
    assert main([*plain, *arguments]) == 2
    told = capsys.readouterr().err
    assert sentence in told and "Traceback" not in told


def test_the_words_of_a_table_count_replies_and_categories_that_have_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of q0 to q11 of three categories only q0 has a reply, a right one: 1 of 1 replies, 1 of 12 items, 8.3 %."""
    lines = (predictions(tmp_path / "all.jsonl", {0}).read_text()).splitlines()
    model = tmp_path / "one.jsonl"
    model.write_text(lines[0] + "\n")
    words = ["--model", str(model), "--bench", str(bench_file(tmp_path)), "--out", str(tmp_path / "one")]
    assert main(words) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "100.0 % of 1 reply, one video: no interval; 8.3 % of all 12 items (11 missing)" in told
    assert "mean over 1 of 3 categories 100.0 %" in told


def test_a_benchmark_with_sound_says_video_only(tmp_path: Path) -> None:
    path = written(tmp_path / "qa.json", [DAILY | {"id": 1}])
    model = tmp_path / "p.jsonl"
    model.write_text('{"id": "1", "text": "D"}\n')
    assert main(["--model", str(model), "--bench", str(path), "--out", str(tmp_path / "out")]) == 0
    found = json.loads((tmp_path / "out/results.json").read_text())
    assert found["notes"][0] == "Video only: models were not given the sound, which the benchmark asks about as well."


def test_controlled_items_are_written_without_keys(tmp_path: Path) -> None:
    out = tmp_path / "items.jsonl"
    plain = ["--model", "x", "--bench", str(bench_file(tmp_path)), "--out", str(tmp_path / "out")]
    assert main([*plain, "--control", "permuted-tags", "--seed", "3", "--write-items", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 12 and not any({"key", "answer", "answer_text"} & set(row) for row in rows)
    assert rows[0]["question"] != ITEMS[0]["qa"]["question"]


# --- going on --------------------------------------------------------------------------------------------------------


class Scripted:
    """Answers B; what `broken` names fails, `until` stops it."""

    def __init__(self, broken: set[str] = frozenset(), until: str = "") -> None:  # type: ignore[assignment]
        self.broken, self.until = broken, until
        self.asked: list[str] = []

    def describe(self) -> dict[str, Any]:
        return {"kind": "scripted", "name": "scripted"}

    def answer(self, item: Item) -> Reply:
        if item.id == self.until:
            raise KeyboardInterrupt
        self.asked.append(item.id)
        return Reply(item.id, error="The endpoint failed.") if item.id in self.broken else Reply(item.id, "B")

    def close(self) -> None:
        pass


TEN = bench(*(item(f"q{k}") for k in range(10)))


def go(model: Scripted, out: Path) -> dict[str, Any]:
    return folder.evaluate(bench=TEN, model=model, out=out, settings={})


def test_it_goes_on_after_a_stop_and_a_torn_line(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        go(Scripted(until="q4"), tmp_path)
    assert not (tmp_path / "results.json").exists()
    with (tmp_path / "replies.jsonl").open("a") as file:
        file.write('{"id": "q4", "te')  # killed while it wrote
    model = Scripted()
    assert go(model, tmp_path)["overall"]["right"] == 10
    assert model.asked == [f"q{k}" for k in range(4, 10)]
    again = Scripted()
    go(again, tmp_path)
    assert not again.asked


def test_errors_are_asked_again_and_counted_apart_until_they_are_not(tmp_path: Path) -> None:
    found = go(Scripted({"q2", "q7"}), tmp_path)
    assert (found["overall"]["right"], found["overall"]["error"], found["overall"]["wrong"]) == (8, 2, 0)
    assert found["overall"]["accuracy"]["released"]["value"] == 1.0 and found["overall"]["at_least"] == 0.8
    assert "2 errors like: The endpoint failed." in found["notes"]
    model = Scripted()
    assert go(model, tmp_path)["overall"]["right"] == 10 and model.asked == ["q2", "q7"]


def test_an_endpoint_that_is_gone_is_given_up(tmp_path: Path) -> None:
    model = Scripted({f"q{k}" for k in range(3, 10)})
    with pytest.raises(folder.GivenUp, match="5 items in a row failed, the last with: The endpoint failed"):
        go(model, tmp_path)
    assert len(model.asked) == 8 and not (tmp_path / "results.json").exists()


def test_errors_with_answers_between_them_are_not_in_a_row(tmp_path: Path) -> None:
    """Also in a later call, which asks nothing but them; and a file of predictions is read to its end."""
    broken = {"q0", "q2", "q4", "q5", "q7", "q9"}
    for _ in range(2):
        assert go(Scripted(broken), tmp_path)["overall"]["error"] == 6
    path = predictions(tmp_path / "m.jsonl", set(), error="CUDA out of memory")
    for _ in range(2):
        told = ["--model", str(path), "--bench", str(bench_file(tmp_path)), "--out", str(tmp_path / "file")]
        assert main(told) == 0
    assert json.loads((tmp_path / "file/results.json").read_text())["overall"]["error"] == 12


def test_it_goes_on_when_told_to(tmp_path: Path) -> None:
    model = Scripted({f"q{k}" for k in range(10)})
    found = folder.evaluate(bench=TEN, model=model, out=tmp_path, settings={}, keep_going=True)
    assert found["overall"]["error"] == 10 and found["overall"]["accuracy"]["released"]["value"] is None


def test_killed_while_it_asks_it_asks_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way: the command, the endpoint over HTTP, pictures of a clip, kill -9, and the same command again."""
    clip = make("25", tmp_path)
    items = [grasp(f"q{k}", "B", f"game{k}") | {"clip_file": clip.path.name} for k in range(6)]
    written(tmp_path / "bench.json", items)
    told = ["--model", "endpoint", "--out", str(tmp_path / "out"), "--bench", str(tmp_path / "bench.json")]
    told += ["--replicates", "50", "--longest", "64"]
    enough = threading.Event()

    def script(body: dict[str, Any]) -> Answer:
        if len(server.asked) == 4 and not enough.is_set():
            enough.set()
            return says("<answer>A", pause_s=5.0)
        return says("<think>Person 2.</think><answer>B")

    with Server(script) as server:
        address = f"http://127.0.0.1:{server.http.server_address[1]}/v1"
        for name, value in {"URL": address, "MODEL": "m", "RATE": "6000"}.items():
            monkeypatch.setenv(f"SIGHTLINE_ENDPOINT_{name}", value)
        process = subprocess.Popen([sys.executable, "-m", "ml.evaluation.run", *told], stderr=subprocess.DEVNULL)
        assert enough.wait(30)
        process.kill()
        process.wait()
        assert len(folder.read_replies(tmp_path / "out/replies.jsonl")) == 3
        assert main(told) == 0
        asked = [body["messages"][1]["content"] for body in server.asked]
    assert len(asked) == 4 + 3  # the one it was killed over is asked again, the three before it are not
    assert {sum(part["type"] == "image_url" for part in parts) for parts in asked} == {4}  # 2.4 s, two a second
    found = json.loads((tmp_path / "out/results.json").read_text())
    assert found["overall"]["right"] == 6 and found["served"] == ["scripted-1"] and found["settings"]["frames"] == 240


def test_a_folder_has_one_writer(tmp_path: Path) -> None:
    with (tmp_path / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(FormatError, match="Another evaluation is writing"):
            go(Scripted(), tmp_path)
    go(Scripted(), tmp_path)


def test_a_broken_line_in_the_middle_is_said(tmp_path: Path) -> None:
    go(Scripted(), tmp_path)
    lines = (tmp_path / "replies.jsonl").read_text().splitlines()
    (tmp_path / "replies.jsonl").write_text("\n".join([lines[0], '{"id": "q1", "odd": 1}', *lines[2:], ""]))
    with pytest.raises(FormatError, match="replies.jsonl, line 2: it is no reply of an evaluation"):
        go(Scripted(), tmp_path)


# --- two models ------------------------------------------------------------------------------------------------------


def test_two_models_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """a alone is right on 0 to 7, b alone on 8: exact McNemar p = 2 (1 + 9) / 2^9; difference 7 of 12."""
    a, b = evaluated(tmp_path, "a", set(range(8))), evaluated(tmp_path, "b", {8})
    third = evaluated(tmp_path, "c", set(range(4)))
    capsys.readouterr()
    told = tmp_path / "told.json"
    assert compare.main([str(a), str(b), str(third), "--json", str(told)]) == 0
    found = json.loads(told.read_text())
    pair = found["pairs"][0]["released"]
    assert (pair["both"], pair["only_a"], pair["only_b"], pair["neither"], pair["n"]) == (0, 8, 1, 3, 12)
    assert pair["p"] == pytest.approx(2 * (1 + 9) / 2**9)
    assert pair["difference"]["value"] == pytest.approx(7 / 12) and pair["left_out"] == 0
    # by game of three items: differences 1, 1, 1/3, 0, drawn four at a time
    assert pair["difference"]["low"] == pytest.approx(1 / 12, abs=0.13) and pair["difference"]["high"] == 1.0
    assert [row["name"] for row in pair["categories"]] == ["gaze_gesture_align", "gaze_target", "gesture_type"]
    assert found["across"]["rho"] == pytest.approx(1) and found["across"]["n"] == 3
    printed = capsys.readouterr().out
    assert "a alone is right on 8, b alone on 1" in printed and "+58.3 points" in printed and "rho = 1.00" in printed


def test_items_without_a_reply_are_no_pairs(tmp_path: Path) -> None:
    a = {"q1": {"score": {"released": 1.0}, "recording": "v", "category": "x"}}
    b: dict[str, Any] = {"q1": {"score": {}, "recording": "v", "category": "x"}}
    told = compare.compared(a, b, replicates=10)
    assert told["n"] == 0 and told["left_out"] == 1 and told["difference"]["value"] is None
    assert compare.sentence(told, "a", "b").startswith("No question was put to both")


def test_runs_of_different_benchmarks_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = evaluated(tmp_path, "a", {0})
    other = written(tmp_path / "other.json", [*ITEMS[:-1], grasp("q11", "A", "game3")])
    model = predictions(tmp_path / "b.jsonl", {1})
    assert main(["--model", str(model), "--bench", str(other), "--out", str(tmp_path / "b")]) == 0
    assert compare.main([str(a), str(tmp_path / "b")]) == 2
    assert "not of the same benchmark" in capsys.readouterr().err
    controlled = evaluated(tmp_path, "t", {0}, "--control", "permuted-tags")
    assert compare.main([str(a), str(controlled)]) == 0
    assert "under permuted-tags" in capsys.readouterr().out
    assert compare.main([str(a)]) == 2 and compare.main([str(a), str(tmp_path)]) == 2


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("results.json", '"sha256"', '"sha"', "bench.sha256: Field required"),
        ("results.json", '"overall": {', '"overall": [{}], "was": {', "overall: Input should be"),
        (
            "items.jsonl",
            '"recording": "game0"',
            '"recording": []',
            "line 1: .*recording: Input should be a valid string",
        ),
        ("items.jsonl", '"strict": ', '"tight": ', "line 1: .*it has no score by strict"),
    ],
)
def test_a_broken_run_is_said(tmp_path: Path, file: str, old: str, new: str, sentence: str) -> None:
    out = evaluated(tmp_path, "m", {0}, "--replicates", "10")
    text = (out / file).read_text()
    assert old in text
    (out / file).write_text(text.replace(old, new))
    with pytest.raises(FormatError, match=sentence):
        compare.Run.load(out)


def test_evaluation_loads_nothing_heavy() -> None:
    script = (
        "import sys, ml.evaluation.run, ml.evaluation.compare, ml.evaluation.local; "
        "heavy = {'django', 'torch', 'transformers', 'cv2', 'av', 'pyarrow', 'scipy', 'statsmodels', 'httpx'}; "
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
