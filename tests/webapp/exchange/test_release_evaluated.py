"""A release that the studio wrote is a benchmark: every item with its key, and none that is retired."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ml.evaluation.bench import load
from ml.evaluation.frames import place
from ml.evaluation.run import main
from tests.webapp.bench.released import accept
from tests.webapp.bench.scene import make_scene
from tests.webapp.exchange.test_release_folder import cut
from webapp.bench import releases
from webapp.bench.models import Question
from webapp.exchange import release_folder


def test_a_release_is_evaluated(people: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    scene: Any = make_scene(people.one, people.alice, source_recording="tape 7")
    accept(scene, 6, raters=(people.bob, people.rita))
    accept(scene, 1, proven=False)
    Question.objects.filter(number=7).update(kind="number", options=[], key=[2], origin="human", text="How many?")
    release = cut(people.one)
    releases.retire(item=release.items.get(position=2), user=people.cora, reason="wrong key")
    content = release_folder.content_of(release)
    out = tmp_path / "release"
    release_folder.write_folder(content, out)

    bench = load(out)
    told = {entry.item["id"]: entry.item for entry in content.entries if entry.number != 2}
    assert {one.id: ",".join(one.key) for one in bench.items} == {id: str(item["answer"]) for id, item in told.items()}
    assert bench.left_out == {"retired since it was released": 1} and bench.facts["sha256"] == release.sha256
    for one in bench.items:
        item = told[one.id]
        assert one.options == tuple(item["options"]) and one.category == item["category"]
        assert one.recording == "tape 7" and place(one, out).is_file()
        assert [sorted(e.persons) for e in one.events] == [sorted(e["persons"]) for e in item["gt_events"]]

    answers = [f"<answer>{item['answer']}</answer>" for item in told.values()]
    rows = [{"id": id, "text": text} for id, text in zip(told, answers, strict=True)]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["--model", str(tmp_path / "m.jsonl"), "--bench", str(out), "--out", str(tmp_path / "eval")]) == 0
    overall = json.loads((tmp_path / "eval/results.json").read_text())["overall"]
    assert (overall["n"], overall["right"], overall["accuracy"]["strict"]["value"]) == (6, 6, 1.0)
