"""The linter over a project: what it says of questions, and what the page may show of that."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import call_command

from tests.webapp.bench.scene import Scene, make_questions
from webapp.bench import linting
from webapp.bench.models import Question
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.services import delete_video

pytestmark = pytest.mark.django_db


def found(scene: Scene) -> dict[str, list[int | None]]:
    report = linting.lint_project(scene.video.project).report
    codes: dict[str, list[int | None]] = {}
    for finding in report.findings:
        codes.setdefault(finding.code, []).append(finding.item)
    return codes


def four_options(scene: Scene) -> None:
    """Questions of the scene have three options; a fourth one makes them GRASP items."""
    for question in Question.objects.all():
        question.options = [*question.options, {"id": "d", "text": "No one", "value": None}]
        assert question.proof is not None
        question.proof["options"].append({"id": "d", "value": None})
        question.save()


def test_a_question_whose_proof_stands_is_clean(scene: Scene) -> None:
    make_questions(scene)
    four_options(scene)
    codes = found(scene)
    assert {code for code in codes if code not in ("not_run", "missing_context")} == set()


def test_the_number_of_options_is_asked_of_templates_only(scene: Scene) -> None:
    make_questions(scene)
    assert found(scene)["option_count"] == [0]
    Question.objects.update(origin="human")
    assert "option_count" not in found(scene)


def test_an_edit_that_makes_the_key_false_is_found(scene: Scene) -> None:
    make_questions(scene, opened=False)
    four_options(scene)
    ann, ben, cid = (str(person.id) for person in scene.people)
    scene.edit("event.update", scene.following, 1, participants=[[ann, "leader"], [ben, "follower"]])
    codes = found(scene)
    assert codes["proof_broken"] == [0] and codes["key_contradicted"] == [0]


def test_positions_follow_the_numbers_and_name_the_questions(scene: Scene) -> None:
    made = make_questions(scene, 3)
    Question.objects.filter(id=made[1].id).update(reasoning="", text="Who probably follows?")
    report = linting.lint_project(scene.video.project)
    assert report.numbers == sorted(question.number for question in made)
    assert [f.item for f in report.report.findings if f.code == "speculative_word"] == [1]


def test_the_page_is_told_nothing_of_keys(scene: Scene) -> None:
    make_questions(scene)
    Question.objects.update(reasoning="", text="Who probably follows Cid's gaze at {t:549}?", origin="human")
    project = scene.video.project
    linting.keep(project=project, found=linting.lint_project(project))
    shown = linting.latest(project)
    assert shown is not None
    rows = {row["code"]: row for row in shown["rows"]}
    assert [row["severity"] for row in shown["rows"]] == sorted(
        (row["severity"] for row in shown["rows"]), key=["error", "warning", "note"].index
    )
    assert rows["speculative_word"]["some"][0]["sentence"] == rows["speculative_word"]["words"]
    assert "cites" in rows["time_outside_clip"]["some"][0]["sentence"]
    assert rows["speculative_word"]["some"][0]["address"].startswith(f"/v/{scene.video.id}/?question=")
    assert shown["title"].startswith("Faults")
    Question.objects.update(state="rejected")
    after = linting.latest(project)
    assert after is not None
    assert all(one["number"] is None for row in after["rows"] for one in row["some"])  # of the whole set only


def test_there_is_nothing_to_show_before_the_first_check_or_after_a_withdrawal(
    scene: Scene, django_capture_on_commit_callbacks: Any
) -> None:
    project = scene.video.project
    assert linting.latest(project) is None
    with pytest.raises(Refused, match="no question to check"):
        linting.lint_project(project)
    make_questions(scene)
    found = linting.lint_project(project)
    linting.keep(project=project, found=found)
    assert default_storage.exists(linting.report_name(project.id))
    with django_capture_on_commit_callbacks(execute=True):
        delete_video(video=scene.video)
    assert linting.latest(project) is None
    linting.keep(project=project, found=found)  # a check that was under way
    with default_storage.open(linting.report_name(project.id)) as file:
        assert {finding["question"] for finding in json.load(file)["findings"]} <= {None}


def test_a_check_is_queued_once(scene: Scene, people: SimpleNamespace) -> None:
    with pytest.raises(Refused):
        linting.request_lint(project=people.one, user=people.cora)
    make_questions(scene)
    first = linting.request_lint(project=people.one, user=people.cora)
    assert linting.request_lint(project=people.one, user=people.cora).id == first.id
    assert (first.kind, first.queue) == ("lint", "cpu")
    assert Job.objects.filter(kind="lint").count() == 1


# ---------------------------------------------------------------------------------------------------- the commands

CLEAN = Path(__file__).parents[2] / "ml/questions/clean_items.jsonl"


def lint_bench(*words: str) -> int:
    try:
        call_command("lint-bench", *words)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture
def no_studio(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' database is there already."""
    from contextlib import contextmanager

    @contextmanager
    def here(*_: Any, **__: Any) -> Any:
        yield lambda: None

    import importlib

    for name in ("lint-bench", "import-items"):
        monkeypatch.setattr(importlib.import_module(f"webapp.studio.management.commands.{name}"), "studio", here)


def test_the_exit_code_says_whether_a_release_may_be_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = tmp_path / "told.json"
    assert lint_bench(str(CLEAN), "--scheme", "data", "--json", str(told)) == 0
    tree = json.loads(told.read_text())
    assert (tree["items"], tree["errors"], tree["releasable"], tree["scheme"]) == (200, 0, True, "data")
    assert {"code", "severity", "item", "sentence"} <= set(tree["findings"][0])
    spoilt = tmp_path / "spoilt.json"
    item = json.loads(CLEAN.read_text().splitlines()[0])
    item["qa"]["answer"] = "E"
    spoilt.write_text(json.dumps([item]))
    assert lint_bench(str(spoilt), "--scheme", "data") == 1
    assert "A release may not be cut." in capsys.readouterr().err
    spoilt.write_text("[{")
    assert lint_bench(str(spoilt)) == 2
    assert "spoilt.json, line 1" in capsys.readouterr().err
    assert lint_bench(str(tmp_path / "nothing.json")) == 2


def test_the_other_inputs_are_read_and_refused_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    for flag in ("--events", "--train", "--clips", "--embedding"):
        assert lint_bench(str(CLEAN), flag, str(bad)) == 2
        said = capsys.readouterr().err
        assert "Traceback" not in said and "bad.json" in said


def test_a_project_is_linted_by_its_short_name(scene: Scene, no_studio: None, tmp_path: Path) -> None:
    make_questions(scene)
    told = tmp_path / "told.json"
    assert lint_bench("one", "--json", str(told)) == 1  # three options
    tree = json.loads(told.read_text())
    assert tree["questions"] == [1] and tree["items"] == 1
    assert lint_bench("nothing-of-that-name") == 2


def test_questions_of_a_project_are_called_by_their_numbers(
    scene: Scene, no_studio: None, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = make_questions(scene, 2)
    same = {"text": first.text, "options": first.options, "key": first.key, "proof": first.proof}
    Question.objects.filter(id=second.id).update(number=41, **same)
    Question.objects.filter(id=first.id).update(number=17)
    assert lint_bench("one") == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "question 41: Question 17 asks the same" in said


def test_items_are_imported_from_the_command_line(scene: Scene, no_studio: None, tmp_path: Path) -> None:
    path, told = tmp_path / "items.jsonl", tmp_path / "told.json"
    item = {"video_name": "scene", "clip_duration": 5.0, "clip_offset": 1.0,
            "qa": {"question": "Who looks at Person 1 at 1.0 s?", "options": ["A) Person 0", "B) Person 2"],
                   "answer": "A", "category": "T1"}}  # fmt: skip
    path.write_text(json.dumps(item))
    call_command("import-items", str(path), "--project", "one", "--json", str(told))
    assert json.loads(told.read_text()) == {"items": 1, "questions": [1], "here": [], "left_out": []}
    path.write_text(json.dumps(item | {"qa": item["qa"] | {"category": "T3"}}))  # type: ignore[operator]
    with pytest.raises(SystemExit) as end:
        call_command("import-items", str(path), "--project", "one")
    assert end.value.code == 2


def test_keys_without_a_proof_are_said_not_to_be_held_against_the_projects_events(scene: Scene) -> None:
    questions = make_questions(scene, 3)
    assert "not held against" not in " ".join(
        f.sentence for f in linting.lint_project(scene.video.project).report.findings
    )
    type(questions[0]).objects.filter(id=questions[0].id).update(proof=None)
    told = [f.sentence for f in linting.lint_project(scene.video.project).report.findings if f.code == "not_run"]
    assert any(one.startswith("1 key was not held against the project's events") for one in told)
