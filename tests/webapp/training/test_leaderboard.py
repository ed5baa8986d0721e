"""The leaderboard and the pages of evaluations, with every figure counted by hand (see `evaluated`)."""

from __future__ import annotations

import csv
import io
import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.webapp.training import evaluated
from tests.webapp.training.evaluated import ASTRAY, GROUNDED, LOOSE, RIGHT, SILENT, WRONG, evaluate, replies_of
from webapp.bench.models import KeySeen, Question, Release
from webapp.lib.errors import Refused
from webapp.runs import evaluation_items, evaluation_pictures, leaderboard
from webapp.runs.models import DatasetSnapshot, Evaluation, SnapshotItem, TrainingRun

pytestmark = pytest.mark.django_db


@pytest.fixture
def release(people: SimpleNamespace) -> Release:
    return evaluated.make_release(people.one)


def board(people: SimpleNamespace, **asked: str) -> leaderboard.Board:
    return leaderboard.board(people.one, leaderboard.Wanted.of(asked))


def names(found: leaderboard.Board) -> list[str]:
    return [row.evaluation.name for row in found.rows]


# ---------------------------------------------------------------------------------------------------------------------
# Figures


def test_accuracy_by_every_reading_with_its_interval(people: SimpleNamespace, release: Release) -> None:
    """The last of four tapes is wrong: a draw of four tapes has it k times with k of Bin(4, 1/4), so the mean is
    1 - k/4; P(k = 4) = 0.4 % and P(k >= 3) = 5.1 %, and the 2.5 % quantile lies at k = 3."""
    evaluate(release, replies_of(RIGHT, (3, WRONG)), name="a")
    evaluate(release, replies_of(LOOSE, (6, RIGHT)), name="b")
    first, second = board(people).rows
    assert first.accuracy is not None and (first.accuracy.shown, first.accuracy.span) == ("75.0", "25.0–100.0")
    assert first.accuracy.says == "75.0 % (n = 12; 95 %: 25.0 to 100.0 %)"
    shown = {name: cell.shown for name, cell in second.cells.items() if cell}
    assert (shown["accuracy"], shown["strict"], shown["lenient"]) == ("50.0", "50.0", "100.0")


def test_fewer_than_ten_are_counts_and_too_few_to_say(people: SimpleNamespace, release: Release) -> None:
    evaluate(release, replies_of(RIGHT, (3, WRONG)), name="a")
    cells = board(people).rows[0].cells
    gaze, gesture = cells["gaze"], cells["gesture"]
    assert gaze is not None and gesture is not None and cells["joint"] is None
    assert (gaze.shown, gaze.span, gaze.says) == ("8 of 8", "too few", "8 of 8: too few to say")
    assert (gesture.shown, gesture.few) == ("1 of 4", True)
    assert cells["hard"] is None and cells["easy"] == gesture and cells["medium"] == gaze


def test_grounded_precision_and_rho(people: SimpleNamespace, release: Release) -> None:
    """Six replies name the two who take part and are right, six name one of them and another and are wrong."""
    made = evaluate(release, replies_of(GROUNDED, (6, ASTRAY)))
    row = board(people).rows[0]
    assert row.precision is not None and row.rho is not None
    assert (row.precision.shown, row.precision.n, row.rho.shown) == ("75.0", 12, "1.00")
    assert made.results["points"] == [
        {"name": "gesture_type", "n": 4, "precision": 0.5, "accuracy": 0.0},
        {"name": "mutual_gaze", "n": 8, "precision": 0.875, "accuracy": 0.75},
    ]


def test_missing_replies_are_neither_right_nor_wrong_but_said(people: SimpleNamespace, release: Release) -> None:
    evaluate(release, dict.fromkeys(evaluated.IDS[:10], RIGHT) | {evaluated.IDS[0]: SILENT})
    row = board(people).rows[0]
    assert row.accuracy is not None and (row.accuracy.shown, row.accuracy.n) == ("90.0", 10)  # 9 of 10; silence is 0
    assert row.marks == ["2 items without a reply are not counted; all of them wrong, it would be 75.0 %."]


def test_controls_stand_beside_their_model(people: SimpleNamespace, release: Release) -> None:
    evaluate(release, replies_of(RIGHT, (3, WRONG)), name="a")
    evaluate(release, replies_of(WRONG, (6, RIGHT)), name="b")
    blind = evaluate(release, replies_of(WRONG, (3, RIGHT)), name="a", control="text-only")
    alone = evaluate(release, replies_of(WRONG), name="c", control="shuffled-video")
    rows = {row.evaluation.name: row for row in board(people).rows}
    told = [(one["words"], one["number"], one["measured"].shown) for one in rows["a"].controls]
    assert told == [("text only", blind.number, "25.0")] and rows["b"].controls == []
    assert rows["c"].accuracy is None and rows["c"].controls[0]["number"] == alone.number


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("accuracy", ["a", "b", "c"]),
        ("accuracy-up", ["c", "b", "a"]),
        ("lenient", ["b", "a", "c"]),
        ("gaze", ["c", "b", "a"]),  # too few in all: none has a value, newest first
        ("name-down", ["c", "b", "a"]),
        ("created-up", ["a", "b", "c"]),
        ("results; DROP TABLE", ["a", "b", "c"]),  # not on the list: as by itself
    ],
)
def test_it_sorts_by_columns_of_the_list(
    people: SimpleNamespace, release: Release, sort: str, expected: list[str]
) -> None:
    evaluate(release, replies_of(RIGHT, (3, WRONG)), name="a")
    evaluate(release, replies_of(LOOSE, (6, RIGHT)), name="b")
    evaluate(release, replies_of(WRONG), name="c")
    assert names(board(people, sort=sort)) == expected


def test_the_finding(people: SimpleNamespace, release: Release) -> None:
    assert board(people).finding == "No model was evaluated on it yet."
    evaluate(release, replies_of(RIGHT, (3, WRONG)), name="a")
    assert board(people).finding == "a is right on 75.0 % (n = 12; 95 %: 25.0 to 100.0 %)."
    evaluate(release, replies_of(WRONG), name="b")  # in every draw 0 %, which is no interval of width 0
    told = "more often than the other one; b follows with 0.0 % (n = 12, every video alike: no interval)."
    assert told in board(people).finding
    evaluate(release, replies_of(WRONG, (6, RIGHT)), name="c")
    assert "more often than the other 2; its interval meets that of c" in board(people).finding


def test_the_newest_release_with_evaluations_is_shown(people: SimpleNamespace, release: Release) -> None:
    evaluate(release, replies_of(RIGHT), name="a")
    second = evaluated.make_release(people.one, 2)
    assert board(people).release == release
    assert board(people, release="2").release == second and not board(people, release="2").rows
    assert board(people, release="9").release == release
    evaluate(second, replies_of(RIGHT), name="b")
    assert names(board(people)) == ["b"] and names(board(people, release="1")) == ["a"]


def test_items_that_were_retired_or_trained_on_are_said(people: SimpleNamespace, release: Release) -> None:
    snapshot = DatasetSnapshot.objects.create(project=people.one, number=1, name="s", state="ready")
    later = DatasetSnapshot.objects.create(project=people.one, number=2, name="t", state="ready")
    fields: dict[str, Any] = {"project": people.one, "stage": "sft", "preset": "tiny-cpu"}
    warm = TrainingRun.objects.create(number=1, name="warm", snapshot=snapshot, **fields)
    run = TrainingRun.objects.create(number=2, name="sgr", snapshot=later, parent=warm, **fields)
    first, second = (one.sha256 for one in release.items.order_by("position")[:2])
    SnapshotItem.objects.create(snapshot=snapshot, item_hash=first, split="train")
    SnapshotItem.objects.create(snapshot=later, item_hash=second, split="validation")
    evaluate(release, replies_of(RIGHT), model_kind="run", run=run, settings={"seed": 0, "limit": 5})
    release.items.filter(position=3).update(retired=timezone.now(), retired_why="mirror")
    assert board(people).rows[0].marks == [
        "Still counts 1 item retired since; it is counted again without it.",
        "Was trained on 1 item of this release, which its accuracy counts.",
        "Asked at most 5 items of the release.",
    ]
    assert board(people).finding.endswith("But model was trained on 1 item of this release.")
    evaluate(release, replies_of(WRONG), name="honest")
    assert board(people).finding.endswith("But model was trained on 1 item of this release.")  # it still is on top


def test_as_many_queries_for_ten_as_for_one(people: SimpleNamespace, release: Release, as_user: Any) -> None:
    snapshot = DatasetSnapshot.objects.create(project=people.one, number=1, name="s", state="ready")
    run = TrainingRun.objects.create(
        project=people.one, number=1, name="warm", stage="sft", snapshot=snapshot, preset="tiny-cpu"
    )
    client = as_user(people.vera)

    def asked() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert client.get("/p/one/leaderboard/").status_code == 200
        return len(queries)

    one = evaluate(release, replies_of(RIGHT), model_kind="run", run=run)
    first = asked()
    for number in range(2, 11):
        fields = {"model_kind": "run", "run": run, "results": one.results, "settings": one.settings, "state": "done"}
        Evaluation.objects.create(
            project=people.one, number=number, name=f"m{number}", model=f"m{number}", release=release,
            control="text-only" if number > 7 else "", **fields,
        )  # fmt: skip
    with CaptureQueriesContext(connection) as queries:
        assert len(board(people).rows) == 10
    assert asked() == first and len(queries) <= 6


# ---------------------------------------------------------------------------------------------------------------------
# Two against each other


def test_the_paired_test_counts_the_same_items(people: SimpleNamespace, release: Release) -> None:
    """a alone is right on items 1 to 6, b alone on 10 to 12: p = 2 (1 + 9 + 36 + 84) / 2^9 = 0.508."""
    a = evaluate(release, replies_of(RIGHT, (3, WRONG)), name="a")
    b = evaluate(release, replies_of(LOOSE, (6, RIGHT)), name="b")
    told = evaluation_items.comparison(a, b)
    head = next(row for row in told["readings"] if row["words"] == "Released")
    assert (head["only_a"], head["only_b"], head["n"], head["shown"], head["p"]) == (6, 3, 12, "+25.0", "p = 0.51")
    assert next(row["shown"] for row in told["readings"] if row["words"] == "Lenient") == "-25.0"
    assert told["sentence"].startswith(
        "On 12 questions, a alone is right on 6, b alone on 3 (McNemar, exact: p = 0.51)"
    )
    few = [(row["words"], row["p"], row["shown"]) for row in told["categories"]]
    assert few == [("Mutual gaze", "too few to say", "–"), ("Gesture type", "too few to say", "–")]
    assert evaluation_items.comparison(b, a)["readings"][1]["shown"] == "-25.0"


def test_items_without_a_reply_are_left_out_of_it(people: SimpleNamespace, release: Release) -> None:
    a = evaluate(release, replies_of(RIGHT), name="a")
    b = evaluate(release, dict.fromkeys(evaluated.IDS[:11], WRONG), name="b")
    told = evaluation_items.comparison(a, b)
    assert (told["n"], told["left_out"]) == (11, 1) and "1 items without a reply" in told["sentence"]


def test_only_evaluations_of_one_release_are_compared(people: SimpleNamespace, release: Release) -> None:
    a = evaluate(release, replies_of(RIGHT), name="a")
    b = evaluate(evaluated.make_release(people.one, 2), replies_of(RIGHT), name="b")
    for other in (a, b):
        with pytest.raises(Refused, match="of one release"):
            evaluation_items.comparison(a, other)


def test_points_lie_where_they_should() -> None:
    """The plot is 364 by 250 from (44, 260): 87.5 % lies at 44 + 0.875 * 364, 75 % at 260 - 0.75 * 250."""
    drawn = evaluation_pictures.scatter(
        [
            {"mark": "1", "name": "a <b>", "precision": 0.875, "accuracy": 0.75, "n": 8},
            {"mark": "2", "name": "c", "precision": 0.88, "accuracy": 0.76, "n": 3},
        ],
        "ρ",
    )
    assert re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawn) == [("362.5", "72.5"), ("364.3", "70.0")]
    assert "a &lt;b&gt;: precision 88 %" in drawn  # 87.5 rounds to even
    assert re.findall(r'class="label"[^>]*>(\d)<', drawn) == ["1"]  # the other lies too near


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([(0.1, 0.2), (0.3, 0.4)], "Too few models (2) to say"),
        ([(0.1, 0.2), (0.3, 0.4), (0.5, 0.6)], "goes with accuracy over 3 models: ρ = 1.00"),
        ([(0.1, 0.6), (0.3, 0.4), (0.5, 0.2)], "goes against accuracy over 3 models: ρ = -1.00"),
        ([(0.1, 0.2), (0.3, 0.2), (0.5, 0.2)], "Accuracy of all 3 models the same: no ρ"),
    ],
)
def test_the_title_of_the_scatter_says_the_finding(points: list[tuple[float, float]], words: str) -> None:
    told, _ = leaderboard.relation([{"precision": x, "accuracy": y} for x, y in points], "models")
    assert words in told


# ---------------------------------------------------------------------------------------------------------------------
# Pages


def test_the_table_names_published_rows_and_what_they_rest_on(
    people: SimpleNamespace, release: Release, as_user: Any
) -> None:
    evaluate(release, replies_of(RIGHT, (3, WRONG)), name="<b>a</b>")
    text = as_user(people.vera).get("/p/one/leaderboard/").content.decode()
    assert "&lt;b&gt;a&lt;/b&gt;" in text and "<b>a</b>" not in text
    assert "Qwen3-VL-8B + SGR" in text and "50.4" in text and "GRASP project page (arXiv 2605.15764)" in text
    assert "reported, unverified" in text and "another benchmark than release 1" in text
    assert "Gemini 3.1 Pro both writes the questions" in text and "Evaluate a model" not in text
    assert "Evaluate a model" in as_user(people.alice).get("/p/one/leaderboard/").content.decode()


def test_what_is_taken_away_holds_controls_and_sources(people: SimpleNamespace, release: Release, as_user: Any) -> None:
    evaluate(release, replies_of(RIGHT, (3, WRONG)), name="=1+1")
    evaluate(release, replies_of(WRONG), name="=1+1", control="text-only")
    client = as_user(people.vera)
    rows = list(csv.DictReader(io.StringIO(client.get("/p/one/leaderboard/table.csv").content.decode())))
    assert [(row["name"], row["control"], row["accuracy"]) for row in rows[:2]] == [
        ("'=1+1", "", "0.75"),
        ("'=1+1", "text-only", "0.0"),
    ]
    assert (rows[0]["accuracy_low"], rows[0]["accuracy_high"], rows[0]["n"]) == ("0.25", "1.0", "12")
    sgr = next(row for row in rows if row["model"] == "Qwen3.5-9B + SGR")
    assert (sgr["bench"], sgr["accuracy"], sgr["gaze"]) == ("GRASP-Bench", "0.526", "0.48")
    tree = json.loads(client.get("/p/one/leaderboard/table.json").content)
    assert tree["release_sha256"] == release.sha256 and len(tree["rows"]) == len(rows)
    assert tree["rows"][0]["name"] == "=1+1" and "another benchmark" in tree["cautions"][-1]


def test_one_evaluation_shows_its_tables_and_the_comparison(
    people: SimpleNamespace, release: Release, as_user: Any
) -> None:
    a = evaluate(release, replies_of(GROUNDED, (3, ASTRAY)), name="a")
    b = evaluate(release, replies_of(LOOSE, (6, RIGHT)), name="b")
    client = as_user(people.vera)
    text = client.get(f"/p/one/evaluations/{a.number}/?with={b.number}").content.decode()
    assert "Right on 75.0 % (n = 12; 95 %: 25.0 to 100.0 %)" in text and "7 of 8: too few to say" not in text
    assert "8 of 8: too few to say" in text and "1 of 4: too few to say" in text
    assert "a alone is right on 6, b alone on 3" in text and "a heuristic" in text
    assert "Items and replies" not in text and "Who is it in q00001?" not in text  # keys are for reviewers
    assert client.get(f"/p/one/evaluations/{a.number}/?with=99").status_code == 404
    tree = json.loads(sent(client.get(f"/p/one/evaluations/{a.number}/files/lmms-eval")))
    assert tree["results"]["release_one_r1"]["accuracy,none"] == 0.75 and tree["model_name"] == "a"
    assert client.get(f"/p/one/evaluations/{a.number}/files/samples").status_code == 404  # that is not for everybody
    assert client.get(f"/p/one/evaluations/{a.number}/items/samples").status_code == 403
    lines = sent(as_user(people.cora).get(f"/p/one/evaluations/{a.number}/items/samples")).splitlines()
    assert len(lines) == 12 and json.loads(lines[0])["target"] == "B"
    for path in ("files/../results.json", "files/passwd", "items/run.json"):
        assert as_user(people.alice).get(f"/p/one/evaluations/{a.number}/{path}").status_code == 404


def sent(answer: Any) -> bytes:
    """A file as it is streamed, of the length that was told before."""

    async def whole() -> bytes:
        return b"".join([piece async for piece in answer.streaming_content])

    data = async_to_sync(whole)()
    assert answer["Content-Length"] == str(len(data)) and answer["Content-Disposition"].startswith("attachment")
    return data


def test_items_with_keys_are_for_reviewers_who_then_know_them(
    people: SimpleNamespace, release: Release, video: Any, as_user: Any
) -> None:
    question = Question.objects.create(
        project=people.one, video=video, number=1, category="mutual_gaze", difficulty="medium", text="Who?",
        shown="Who?", key=["b"], start=0, end=50, state="accepted",
    )  # fmt: skip
    release.items.filter(position=1).update(question=question)
    made = evaluate(release, replies_of(LOOSE, (4, WRONG)) | {evaluated.IDS[1]: GROUNDED})
    address = f"/p/one/evaluations/{made.number}/items/"
    assert as_user(people.bob).get(address).status_code == 403 and not KeySeen.objects.exists()
    text = as_user(people.rita).get(address).content.decode()
    assert text.count("<article") == 12 and "Who is it in q00001?" in text and "(b)" in text
    assert "Lenient reading: B." in text and "Grounded precision 100 %." in text
    assert list(KeySeen.objects.values_list("user__username", "question")) == [("rita", question.id)]
    wrong = as_user(people.rita).get(f"{address}?state=wrong&category=gesture_type").content.decode()
    assert wrong.count("<article") == 4 and "q00012" in wrong and "q00001" not in wrong
    assert as_user(people.rita).get(f"{address}?state=odd&page=99999999&category=x").status_code == 200


def test_the_form_starts_one_and_says_what_is_wrong(people: SimpleNamespace, release: Release, as_user: Any) -> None:
    client = as_user(people.alice)
    assert "File of its replies" in client.get("/p/one/evaluations/new/?release=1").content.decode()
    sent = {"model": "predictions", "release": "1", "frames": "240", "seed": "0"}
    answer = client.post("/p/one/evaluations/new/", sent)
    assert answer.status_code == 422 and "Choose the file" in answer.content.decode()
    lines = io.BytesIO(b'{"id": "q00001", "text": "B"}\n')
    lines.name = "mine.jsonl"
    answer = client.post("/p/one/evaluations/new/", sent | {"file": lines, "name": "Mine"})
    made = Evaluation.objects.get()
    assert answer.status_code == 302 and (made.name, made.state, made.model_kind) == ("Mine", "queued", "predictions")
    assert client.post(f"/p/one/evaluations/{made.number}/stop/").status_code == 302
    made.refresh_from_db()
    assert made.state == "cancelled"
    for somebody, status in ((people.cora, 403), (people.charlie, 404)):
        assert as_user(somebody).post("/p/one/evaluations/new/", sent).status_code == status
    assert Evaluation.objects.count() == 1


def test_a_run_is_evaluated_from_its_page_by_its_number(
    people: SimpleNamespace, release: Release, as_user: Any
) -> None:
    snapshot = DatasetSnapshot.objects.create(project=people.one, number=1, name="s", state="ready")
    run = TrainingRun.objects.create(
        project=people.one, number=3, name="sgr", stage="grpo", snapshot=snapshot, preset="tiny-cpu", state="done"
    )
    run.checkpoints.create(step=8, path="checkpoints/checkpoint-8")
    answer = as_user(people.alice).post("/p/one/evaluations/new/", {"run": "3", "checkpoint": "8"})
    made = Evaluation.objects.get()
    assert answer.status_code == 302 and (made.run, made.checkpoint, made.release) == (run, 8, release)
    assert made.settings == {"seed": 0, "limit": None, "reasoning": True, "frames": 240, "tokens": None}
