"""Pages of training: what they say when there is nothing, what a form sends, what an answer may not do to a page."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import tarfile
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext

from tests.browser.runs import seed
from tests.webapp.runs import make_filmed_video
from tests.webapp.training import made
from webapp.bench.models import KeySeen
from webapp.jobs.models import Job
from webapp.runs import folders, run_settings
from webapp.runs.models import DatasetSnapshot, Metric, Rollout, TrainingRun

RUNS = "/p/one/runs/"
VENDOR = Path(__file__).resolve().parents[3] / "static/vendor"


@pytest.fixture
def snapshot(people: SimpleNamespace) -> DatasetSnapshot:
    return seed.make_snapshot(people.one, people.alice)


def words(client: Any, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, (address, answer.status_code)
    return str(answer.content.decode())


def form_of(client: Any, **changes: Any) -> Any:
    """Send the form of a new run."""
    wanted = {"stage": "grpo", "snapshot": "1", "start": f"model:{made.model()}", "preset": "tiny-cpu", "name": ""}
    return client.post(f"{RUNS}new/", wanted | changes)


# ---------------------------------------------------------------------------------------------------------------------
# Nothing yet, and who may not


def test_empty_pages_say_what_comes_next(people: SimpleNamespace, as_user: Any) -> None:
    admin, viewer = as_user(people.alice), as_user(people.vera)
    told = words(admin, RUNS)
    assert "No runs yet" in told and 'href="/p/one/snapshots/"' in told
    assert "No snapshot to learn from" in words(admin, f"{RUNS}new/")
    assert "Make the first snapshot" in words(admin, "/p/one/snapshots/")
    assert "Choose runs to compare" in words(admin, f"{RUNS}compare/")
    for address in (RUNS, "/p/one/snapshots/"):
        told = words(viewer, address)
        assert "needs the role admin" in told and 'class="button button-primary"' not in told
    seed.make_snapshot(people.one, people.alice)
    assert "Choose what the run starts from" in words(admin, RUNS)
    told = words(admin, f"{RUNS}new/")
    assert "No model to start from" in told and "<code>python -m ml.training.tiny OUT</code>" in told


def test_a_reviewer_sees_the_run_and_can_do_nothing_to_it(
    snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any
) -> None:
    run = seed.make_run(snapshot, people.alice, steps=3)
    client = as_user(people.rita)
    told = words(client, f"{RUNS}1/")
    assert re.search(r'data-dialog="stop" disabled\s+title="[^"]*needs the role admin', told)
    assert 'data-act="clone"' not in told
    for verb in ("start", "stop", "resume", "clone", "delete"):
        address = f"/api/v1/projects/one/runs/1/{verb}"
        answer = client.post(address, json.dumps({"version": run.version}), content_type="application/json")
        assert answer.status_code == 403, verb
    assert client.get(f"{RUNS}new/").status_code == 403
    run.refresh_from_db()
    assert run.state == "running"
    # and somebody below sees no key
    assert as_user(people.bob).get(f"{RUNS}1/rollouts/").status_code == 403
    assert f"{RUNS}1/rollouts/" not in words(as_user(people.bob), f"{RUNS}1/")


# ---------------------------------------------------------------------------------------------------------------------
# Drafting


def test_only_what_differs_from_the_preset_is_kept(
    snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any
) -> None:
    """The whole form is sent, with two settings changed and one written otherwise but the same."""
    client = as_user(people.alice)
    told = words(client, f"{RUNS}new/?preset=tiny-cpu") if made.model() else ""
    fields = {name: unescape(value) for name, value in re.findall(r'name="(set\.[^"]+)" value="([^"]*)"', told)}
    assert fields["set.train.learning_rate"] == "0.001" and fields["set.rewards.weights.accuracy"] == "1"
    fields |= {"set.train.seed": "7", "set.train.learning_rate": "1.0e-3", "set.model.freeze_vision": "no"}
    answer = form_of(client, **fields, name="Seven")
    assert answer["Location"] == f"{RUNS}1/"
    run = TrainingRun.objects.get()
    assert run.overrides == {"train.seed": 7, "model.freeze_vision": False}
    assert (run.name, run.seed, run.state) == ("Seven", 7, "draft")
    told = words(client, f"{RUNS}1/")
    assert "Counting tokens, memory and time" in told and re.search(r'data-act="start" disabled', told)
    # the draft's form shows them as changed, and takes them back
    told = words(client, f"{RUNS}1/edit/")
    assert re.search(r'name="set\.train\.seed" value="7" data-preset="0"', told)
    assert re.search(r'class="setting is-changed">\s*<label for="set\.train\.seed"', told)
    wanted = {"snapshot": "1", "start": "model:tiny", "preset": "tiny-cpu", "version": run.version, "name": "Six"}
    assert client.post(f"{RUNS}1/edit/", wanted | {"set.train.seed": "6"})["Location"] == f"{RUNS}1/"
    run.refresh_from_db()
    assert (run.overrides, run.name) == ({"train.seed": 6}, "Six")
    answer = client.post(f"{RUNS}1/edit/", wanted | {"set.train.seed": "5"}, follow=True)  # from the version before
    assert "Somebody else changed this draft" in answer.content.decode()
    run.refresh_from_db()
    assert run.seed == 6


@pytest.mark.parametrize(
    ("told", "title"),
    [
        ({"state": "queued"}, "The preflight is not through yet"),
        ({"state": "failed", "error": "The disk is full."}, "The preflight failed: look again, or change the run"),
        ({"state": "done", "for": "before"}, "Something changed since the preflight: look again"),
        ({"state": "done", "errors": ["No packages."]}, "The preflight says no; what it found stands below"),
        ({"state": "done", "errors": []}, ""),
    ],
)
def test_a_draft_says_why_it_cannot_start_and_is_looked_at_again(
    snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any, told: dict[str, Any], title: str
) -> None:
    made.model()
    run = made.run(snapshot)
    run.preflight = {"for": run.preflight["for"]} | told
    run.save()
    shown = words(as_user(people.alice), f"{RUNS}1/")
    found = re.findall(r'data-act="start" (?:disabled title="([^"]*)")?', shown)
    assert found == [title]
    assert ('data-act="preflight"' in shown) == (told["state"] != "queued")
    assert 'data-act="preflight"' not in words(as_user(people.rita), f"{RUNS}1/")
    if told.get("errors"):
        client = as_user(people.alice)
        assert client.post("/api/v1/projects/one/runs/1/preflight").status_code == 200
        assert "Counting tokens, memory and time" in words(client, f"{RUNS}1/")


def test_weights_of_rewards_go_together(snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any) -> None:
    """Any weight in a run's settings stands in the place of all of the preset's."""
    client = as_user(people.alice)
    form_of(client, **{"set.rewards.weights.sgr-strict": "0.5"})
    run = TrainingRun.objects.get()
    grasp = {"accuracy": 1.0, "format-grasp": 0.1, "grounding-tag": 0.05, "sgr-release": 0.2}
    assert run.overrides == {"rewards.weights": grasp | {"sgr-strict": 0.5}}
    given = {f"set.rewards.weights.{name}": f"{value:g}" for name, value in grasp.items()}
    form_of(client, **given)
    assert TrainingRun.objects.get(number=2).overrides == {}


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("set.train.learning_rate", "much", "train.learning_rate must be a number, not &#x27;much&#x27;."),
        ("set.rollouts.top_p", "1.5", "rollouts.top_p must be at most 1, not 1.5."),
        ("set.rewards.weights.accuracy", "heavy", "rewards.weights.accuracy must be a number"),
        ("set.frames.most", "5", "frames.most must be an even number of frames, not 5."),
    ],
)
def test_a_wrong_setting_is_named_at_its_field(
    snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any, field: str, value: str, sentence: str
) -> None:
    answer = form_of(as_user(people.alice), **{field: value})
    told = answer.content.decode()
    assert answer.status_code == 422 and not TrainingRun.objects.exists()
    group = told.partition(f'id="{field}"')[2].partition('<div class="setting')[0]
    assert f'<p class="field-error">{sentence}' in group and f'value="{value}"' in told


def test_another_preset_keeps_what_was_changed(people: SimpleNamespace, as_user: Any) -> None:
    """The part that htmx asks for again holds the other preset's values, and what was changed before."""
    query = "stage=grpo&preset=paper-8xH200&set.train.seed=9"
    told = as_user(people.alice).get(f"{RUNS}new/?{query}", HTTP_HX_REQUEST="true").content.decode()
    assert told.lstrip().startswith("<section") and 'value="9" data-preset="0"' in told
    assert 'name="set.train.warmup_steps" value="256" data-preset="256"' in told
    sft = as_user(people.alice).get(f"{RUNS}new/?stage=sft&preset=tiny-cpu", HTTP_HX_REQUEST="true").content.decode()
    assert "set.rewards" not in sft and "set.rollouts" not in sft


def test_settings_are_named_in_words(snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any) -> None:
    """By their label, the dotted name that sentences use in the title; a unit that the label says is not repeated."""
    made.model()
    told = words(as_user(people.alice), f"{RUNS}new/?preset=tiny-cpu")
    labels = {name: " ".join(re.sub("<[^>]*>", "", text).split()) for name, text in re.findall(
        r'<label for="set\.[^"]+" title="([^"]+)">(.*?)</label>', told
    )}  # fmt: skip
    expected = {
        "train.max_steps": "Steps in all", "train.warmup_steps": "Warmup steps", "train.weight_decay": "Weight decay",
        "frames.most": "Most frames of a clip", "rollouts.max_new_tokens": "Longest answer tokens",
        "rewards.weights.sgr-paper": "sgr-paper weight",
    }  # fmt: skip
    assert {name: labels.get(name) for name in expected} == expected
    assert not [text for name, text in labels.items() if "_" in text or (text[0].islower() and "weights" not in name)]
    assert "on the mentions of sgr-release." in told
    made.run(snapshot, overrides={"train.max_steps": 9})
    assert '<dt title="train.max_steps">Steps in all</dt><dd>9</dd>' in words(as_user(people.alice), f"{RUNS}1/")


def test_every_setting_has_its_field_and_comes_back_as_it_was() -> None:
    """What the form shows of every preset, sent back whole, changes nothing."""
    from ml.training import configs

    for stage in ("sft", "grpo"):
        for preset in configs.presets(stage):
            groups = run_settings.groups(stage, preset.name, {}, {})
            shown = {one.field: one.value for group in groups for one in group.settings}
            for one in configs.settings(stage):
                assert one.kind == "weights" or f"set.{one.name}" in shown
            assert run_settings.sent(shown, stage, preset.name) == {}


# ---------------------------------------------------------------------------------------------------------------------
# Lists and curves


def test_the_list_asks_as_much_for_one_run_as_for_many(
    snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any, django_assert_num_queries: Any
) -> None:
    from django.db import connection

    client = as_user(people.alice)
    counts = []
    for more in (1, 5):
        for _ in range(more):
            run = seed.make_run(snapshot, people.alice, steps=4)
            seed.keep_rollout(run, 2)
        for address in (RUNS, f"{RUNS}1/", f"{RUNS}1/?show=lineage", f"{RUNS}1/rollouts/", "/p/one/snapshots/1/"):
            words(client, address)
            with CaptureQueriesContext(
                connection,
            ) as asked:
                words(client, address)
            counts.append((address, len(asked)))
    assert counts[:5] == counts[5:]


def test_the_file_of_metrics_holds_every_logged_step(
    snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any
) -> None:
    run = seed.make_run(snapshot, people.alice, steps=12)
    Metric.objects.create(run=run, step=13, values={"loss": None})
    client = as_user(people.vera)
    rows = list(csv.DictReader(io.StringIO(words(client, f"{RUNS}1/metrics.csv"))))
    assert [int(row["step"]) for row in rows] == list(range(1, 14))
    for row in rows[:12]:
        values = seed.values_at(int(row["step"]), 1)
        assert {name: float(row[name]) for name in values} == pytest.approx(values)
    assert rows[12]["loss"] == ""
    few = words(client, f"{RUNS}1/metrics.csv?name=loss&name=nothing&name=kl").splitlines()[0]
    assert few.strip() == "step,time,loss,kl"


def test_compared_runs_show_what_differs(snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any) -> None:
    seed.make_run(snapshot, people.alice, steps=3)
    seed.make_run(snapshot, people.alice, steps=3, of=50)
    told = words(as_user(people.vera), f"{RUNS}compare/?runs=2&runs=1,99,x")
    (table,) = re.findall(r'<table class="tally compare-settings">.*?</table>', told, re.DOTALL)
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)]
    assert rows == [["Setting", "Run 2", "Run 1"], ["train.max_steps", "50", "200"]]
    curves = json.loads(re.findall(r'id="curves" type="application/json">(.*?)</script>', told)[0])
    assert [one["number"] for one in curves] == [2, 1] and curves[0]["columns"]["step"] == [1, 2, 3]


def test_the_folder_leaves_without_checkpoints_and_locks(
    snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any
) -> None:
    run = seed.make_run(snapshot, people.alice)
    folder = folders.run(run.id)
    client = as_user(people.alice)
    assert "no folder yet" in words(client, f"{RUNS}1/folder.tar", 404)
    names = (
        "run.json",
        "final/model.safetensors",
        "checkpoints/checkpoint-2/optimizer.pt",
        ".lock",
        "stop",
        "process.json",
    )
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "link").symlink_to("/etc/hostname")
    answer = client.get(f"{RUNS}1/folder.tar")
    with tarfile.open(fileobj=io.BytesIO(b"".join(_pieces(answer)))) as tar:
        assert sorted(tar.getnames()) == ["one-run-1/final/model.safetensors", "one-run-1/run.json"]
        file = tar.extractfile("one-run-1/run.json")
        assert file is not None and file.read() == b"run.json"


def _pieces(answer: Any) -> list[bytes]:
    """What an asynchronous answer streams."""
    from asgiref.sync import async_to_sync

    async def read() -> list[bytes]:
        return [piece async for piece in answer.streaming_content]

    return async_to_sync(read)()


def test_a_run_without_a_step_says_where_it_is(
    snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any
) -> None:
    run = seed.make_run(snapshot, people.alice, state="queued")
    run.job = Job.objects.create(project=people.one, kind="train", queue="train")
    run.save()
    client = as_user(people.alice)

    def said() -> str:
        return re.findall(r'<p id="no-step" data-renew>([^<]*)</p>', words(client, f"{RUNS}1/"))[0]

    assert said().startswith("It waits for a worker;")
    TrainingRun.objects.update(state="running")
    Job.objects.update(state="running", stage="starting")
    assert said().startswith("Starting: packages and the model are loaded;")
    assert "starting: loading the model" in words(client, f"{RUNS}1/")
    Job.objects.update(stage="train")
    assert said().startswith("The model is loaded and the first step is under way;")
    Job.objects.update(state="queued")  # its worker died
    assert said().startswith("It waits for a worker;")
    TrainingRun.objects.update(state="failed")
    assert said() == "It ended before its first step was logged."


@pytest.mark.parametrize(("stage", "there"), [("grpo", True), ("sft", False)])
def test_a_warm_up_has_no_tabs_of_what_it_does_not_do(
    snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any, stage: str, there: bool
) -> None:
    seed.make_run(snapshot, people.alice, stage=stage)
    told = words(as_user(people.alice), f"{RUNS}1/")
    assert ("?show=watch" in told, f"{RUNS}1/rollouts/" in told) == (there, there) and "?show=lineage" in told


# ---------------------------------------------------------------------------------------------------------------------
# Rollouts


class Marks(HTMLParser):
    """The marks of a page: (class, text, title)."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []
        self.tags: list[str] = []
        self._open: dict[str, str | None] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "mark":
            self._open = dict(attrs)

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            kind = str(self._open["class"]).removeprefix("said said-")
            self.found.append((kind, data, str(self._open["title"])))
            self._open = None


def test_answers_stand_side_by_side_with_what_they_earned(
    snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any
) -> None:
    """Totals by hand: accuracy 1, format 0.1, tag 0.05, and 0.2 x (0.7 R + 0.3 P): R, P are 1 and 1 in the first
    answer, 1/2 and 1 in the fifth; 0 and 0 in the third, whose plural the released form does not read."""
    run = seed.make_run(snapshot, people.alice, steps=1)
    seed.keep_rollout(run, 1)
    rollout = Rollout.objects.get()
    told = words(as_user(people.rita), f"{RUNS}1/rollouts/{rollout.id}/")
    totals = re.findall(r'class="answer-total"[^>]*>([^<]*)<', told)
    assert totals == ["1.35", "0.15", "1.15", "0", "1.28", "0.15", "0.15", "0"]
    marks = Marks(told)
    kinds = [(kind, text) for kind, text, _ in marks.found]
    assert kinds[:3] == [("asked", "Person 2"), ("target", "Person 3"), ("target", "Person 1")]
    assert ("wrong", "Person 4") in kinds and ("mixed", "Persons 1, 3 and 4") in kinds
    assert marks.found[1][2] == "Person 3: takes part in a gaze event of the key; credit 1."
    assert "Person 4: takes part in no gaze event of the key; costs precision." in {title for *_, title in marks.found}
    assert "Names 2 of 2 to be named; nobody else named." in told
    assert "This form does not read plurals and small letters." in told
    assert "Gaze: Person 2, Person 3, 3 to 5 s" in told and "Gesture: Person 1, 3.2 to 4 s" in told
    assert re.search(r'<li class="is-key"><b>B</b> <span>Person 3</span>', told)


def test_who_reads_a_rollout_knows_the_key(snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any) -> None:
    """By its page or by the API: no blind answer is asked of that person any more. The list tells no key."""
    run = seed.make_run(snapshot, people.alice, steps=1)
    seed.keep_rollout(run, 1)
    rollout = Rollout.objects.get()
    question = made.question(make_filmed_video(people.one), 1)
    snapshot.items.filter(item_hash=rollout.item_hash).update(question=question)
    as_user(people.rita).get(f"{RUNS}1/rollouts/")
    assert as_user(people.bob).get(f"{RUNS}1/rollouts/{rollout.id}/").status_code == 403
    assert not KeySeen.objects.exists()
    assert as_user(people.rita).get(f"{RUNS}1/rollouts/{rollout.id}/").status_code == 200
    assert as_user(people.cora).get("/api/v1/projects/one/runs/1/rollouts").status_code == 200
    seen = KeySeen.objects.order_by("user__username").values_list("user__username", "question")
    assert list(seen) == [("cora", question.id), ("rita", question.id)]


HOSTILE = '<script>alert(1)</script><gaze>"><img src=x onerror=alert(2)> Person 3</gaze>{{ 7|add:7 }}<answer>B</answer>'


def test_an_answer_cannot_write_into_the_page(snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any) -> None:
    run = seed.make_run(snapshot, people.alice, steps=1, name="<img src=x onerror=alert(3)>", error="<b>bad</b>")
    seed.keep_rollout(run, 1, (HOSTILE, "Person 1 </textarea></pre>"), category="<i>")
    Rollout.objects.update(question="<script>q</script>", options=["<script>o</script>", "b"])
    rollout = Rollout.objects.get()
    client = as_user(people.rita)
    for address in (
        f"{RUNS}1/rollouts/{rollout.id}/",
        f"{RUNS}1/rollouts/",
        f"{RUNS}1/",
        RUNS,
        f"{RUNS}compare/?runs=1",
    ):
        told = words(client, address)
        for raw in ("<script>alert", "<img src=x", "<script>q", "<script>o", "<b>bad", "<i>", "{{ 7", "</pre>Person"):
            assert raw not in told or raw == "{{ 7", (address, raw)
        assert "img" not in Marks(told).tags
    told = words(client, f"{RUNS}1/rollouts/{rollout.id}/")
    assert (
        "&lt;script&gt;" in told
        and "{{ 7|add:7 }}" in told
        and ("target", "Person 3") in [m[:2] for m in Marks(told).found]
    )


def test_rollouts_are_filtered_and_walked_in_their_order(
    snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any
) -> None:
    """Spreads by hand: all alike 0, and the full set of eight has the greatest."""
    run = seed.make_run(snapshot, people.alice, steps=3)
    seed.keep_rollout(run, 1, seed.TEXTS[:1] * 4)
    seed.keep_rollout(run, 2)
    seed.keep_rollout(run, 3, (seed.TEXTS[0], seed.TEXTS[4]), category="mutual_gaze")
    by_step = {one.step: one for one in Rollout.objects.all()}
    client = as_user(people.rita)

    def listed(query: str) -> list[int]:
        told = words(client, f"{RUNS}1/rollouts/{query}")
        return [int(step) for step in re.findall(r'data-rollout="\d+">\s*<td class="number mono">(\d+)<', told)]

    assert listed("") == [2, 3, 1] and listed("?sort=step") == [3, 2, 1]
    assert listed("?category=mutual_gaze") == [3] and listed("?category=none") == []
    assert listed("?sort=anything&page=x") == [2, 3, 1] and listed("?page=2") == []
    told = words(client, f"{RUNS}1/rollouts/{by_step[3].id}/")
    links = dict(re.findall(r'rel="(prev|next)"[^>]*href="[^"]*/rollouts/(\d+)/', told))
    assert links == {"prev": str(by_step[2].id), "next": str(by_step[1].id)}
    other = seed.make_run(snapshot, people.alice)
    assert client.get(f"{RUNS}{other.number}/rollouts/{by_step[3].id}/").status_code == 404
    assert client.get(f"{RUNS}1/rollouts/{2**63}/").status_code == 404


def test_a_withdrawn_rollout_explains_nothing(snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any) -> None:
    run = seed.make_run(snapshot, people.alice, steps=1)
    seed.keep_rollout(run, 1)
    Rollout.objects.update(row={}, question="", options=[], answer="", completions=[])
    told = words(as_user(people.rita), f"{RUNS}1/rollouts/{Rollout.objects.get().id}/")
    assert "The answers were erased" in told and "This item was withdrawn" in told


# ---------------------------------------------------------------------------------------------------------------------
# Snapshots, lineage


def test_a_snapshot_is_made_from_the_form(people: SimpleNamespace, as_user: Any) -> None:
    client = as_user(people.alice)
    answer = client.post("/p/one/snapshots/", {"validation_share": "0.1", "seed": "0"})
    assert answer.status_code == 422 and "Choose at least one release" in answer.content.decode()
    answer = client.post("/p/one/snapshots/", {"validation_share": "2", "seed": "0", "questions": "on"})
    assert answer.status_code == 422 and "less than or equal to 0.9" in answer.content.decode()
    from tests.webapp.training.evaluated import make_release

    make_release(people.one)
    answer = client.post("/p/one/snapshots/", {"validation_share": "0.2", "seed": "3", "releases": ["1"], "name": "A"})
    assert answer["Location"] == "/p/one/snapshots/"
    found = DatasetSnapshot.objects.get()
    assert (found.name, found.validation_share, found.seed) == ("A", 0.2, 3)
    assert found.job is not None and found.job.kind == "snapshot"
    assert "Being made" in words(client, "/p/one/snapshots/1/") and "No items yet" in words(
        client, "/p/one/snapshots/1/"
    )


@pytest.mark.parametrize(
    ("share", "recordings", "items", "sentence"),
    [
        (0.1, ["kitchen"], 0, "A recording is never divided between the parts, and all items are of one"),
        (0.1, ["kitchen", "office"], 0, "Recordings that share a video or a clip are never divided"),
        (0.0, ["kitchen", "office"], 0, "No share for validation was asked for."),
        (0.1, ["kitchen", "office"], 6, ""),
    ],
)
def test_a_snapshot_says_why_nothing_validates(
    people: SimpleNamespace, as_user: Any, share: float, recordings: list[str], items: int, sentence: str
) -> None:
    facts = {
        "counts": {"train": {"items": 40}, "validation": {"items": items}},
        "recordings": {"train": recordings, "validation": []},
        "coverage": {"train": 0.9, "validation": None},
    }
    seed.make_snapshot(people.one, people.alice, facts=facts, validation_share=share)
    told = words(as_user(people.vera), "/p/one/snapshots/1/")
    assert f"share asked for validation {share}" in told
    found = re.findall(r"<span>Nothing for validation\. (.*?)</span>", told)
    assert [one[: len(sentence)] for one in found] == ([sentence] if sentence else [])


def test_items_of_a_snapshot_show_their_questions(people: SimpleNamespace, as_user: Any) -> None:
    found = made.snapshot(people.one)
    client = as_user(people.vera)
    assert "Who does Person 0 look at in part 3?" in words(client, "/p/one/snapshots/1/")
    found.items.update(withdrawn=True)
    assert "Who does Person 0" not in words(client, "/p/one/snapshots/1/")


def test_a_question_names_the_runs_that_trained_on_it(people: SimpleNamespace, as_user: Any) -> None:
    video = make_filmed_video(people.one)
    snapshot = made.snapshot(people.one, video=video, others=video)
    run = made.run(snapshot)
    question, unseen = (made_of(snapshot, split) for split in ("train", "validation"))
    client = as_user(people.alice)
    assert client.get(f"/api/v1/questions/{question.id}/runs").json() == {"runs": []}  # a draft saw nothing
    TrainingRun.objects.update(attempt=1, state="stopped")
    (told,) = client.get(f"/api/v1/questions/{question.id}/runs").json()["runs"]
    assert (told["number"], told["name"]) == (run.number, run.name)
    assert f'<a href="{RUNS}1/">Run 1' in words(client, f"/q/{question.id}/edit/")
    assert client.get(f"/api/v1/questions/{unseen.id}/runs").json() == {"runs": []}
    told = words(client, f"{RUNS}1/?show=lineage")
    assert f'href="/p/one/snapshots/{snapshot.number}/"' in told and snapshot.hash in told


def test_lineage_names_no_folder_of_the_machine(
    snapshot: DatasetSnapshot, people: SimpleNamespace, as_user: Any
) -> None:
    about = {
        "changed": {"paths.model": "/srv/models/secret"},
        "command": "python -m ml.training.grpo --model /srv/models/secret",
        "model": {"name": "tiny", "fingerprint": "fe" * 32, "random_weights": True},
        "versions": {"torch": "2.13.0"},
        "rows": 36,
    }
    seed.make_run(snapshot, people.alice, steps=2, about=about)
    told = words(as_user(people.vera), f"{RUNS}1/?show=lineage")
    assert "fe" * 32 in told and "torch 2.13.0" in told and "random weights" in told and "/srv" not in told


def made_of(snapshot: DatasetSnapshot, split: str) -> Any:
    """A question of that split."""
    return snapshot.items.filter(split=split).select_related("question")[0].question


def test_what_is_vendored_is_what_the_manifest_says() -> None:
    told = json.loads((VENDOR / "manifest.json").read_text())
    files = {name: sha for one in told for name, sha in one["files"].items()}
    there = {str(path.relative_to(VENDOR)) for path in VENDOR.rglob("*") if path.is_file()} - {"manifest.json"}
    assert there == set(files)
    for name, sha in files.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == sha, name
    assert all(one["licence"] and one["source"] and one["version"] for one in told)
