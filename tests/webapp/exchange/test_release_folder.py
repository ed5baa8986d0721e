"""A release as a folder: every layout reads back as what was released, and the same rows give the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
import zipfile
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection, transaction

from ml.formats import check_release, croissant, grasp_annotations, grasp_items, hf_dataset, lmms_eval, vlmevalkit
from tests.webapp.bench.released import accept
from tests.webapp.bench.scene import make_scene
from webapp.bench import releases
from webapp.bench.models import Question, Release
from webapp.exchange import release_folder, release_plots
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.library.services import delete_video
from webapp.studio.command import about_files

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)


@pytest.fixture
def scene(people: SimpleNamespace) -> Any:
    people.one.licence = "CC BY 4.0"
    people.one.save()
    return make_scene(people.one, people.alice, source_recording="tape | 7")


def cut(project: Any, **more: Any) -> Release:
    return releases.keep(made=releases.draft(project=project, **more), user=None, id=uuid.uuid4())


@pytest.fixture
def content(scene: Any, people: SimpleNamespace) -> release_folder.Content:
    accept(scene, 6, raters=(people.bob, people.rita))
    accept(scene, 1, proven=False)
    Question.objects.filter(number=7).update(
        kind="number", options=[], key=[2], origin="human", text="How many people follow a gaze?"
    )
    return release_folder.content_of(cut(people.one, notes="First | of *many*"))


def test_every_layout_holds_what_was_released(content: release_folder.Content) -> None:
    files = release_folder.metadata(content)
    rows = hf_dataset.read_rows(files["data/test-00000-of-00001.parquet"])
    assert [row["id"] for row in rows] == [entry.item["id"] for entry in content.entries]
    lines = vlmevalkit.parse(files["vlmevalkit/one_r1_test.tsv"])
    assert [line.index for line in lines] == [1, 2, 3, 4, 5, 6]  # a number has no letter
    for entry, row, line in zip(content.entries[:6], rows, lines, strict=False):
        item = entry.item
        name = f"{item['video']['sha256'][:12]}_qa{entry.number:04d}"
        read = grasp_items.parse_item(json.loads(files[f"json/{name}.json"]))
        assert read.clip_file == f"{name}.mp4" and read.extra["sha256"] == entry.sha256 == row["sha256"]
        assert [option[3:] for option in read.options] == item["options"] == row["options"] == line.options
        assert read.answer == item["answer"] == row["answer"] == line.answer
        assert read.options[ord(read.answer) - 65] == f"{read.answer}) {read.answer_text}"
        assert read.category == "T5" and row["category"] == line.category == "gaze_following"
        assert read.time_range == tuple(row["time_range"]) == (4.0, 5.0) and read.clip_offset == 2.48
        assert row["gt_events"] == item["gt_events"] and row["media_sha256"] == read.video_id
        assert row["video"] == line.video == f"video/{name}.mp4"
    assert rows[6]["answer"] == "2" and rows[6]["options"] == []
    assert not [path for path in files if path.endswith("qa0007.json")]  # GRASP has no such items


def test_lists_card_and_manifest_agree(content: release_folder.Content, tmp_path: Path) -> None:
    files = release_folder.metadata(content)
    (tmp_path / "annotations.jsonl").write_bytes(files["annotations.jsonl"])
    annotations = list(grasp_annotations.stream(tmp_path / "annotations.jsonl"))
    assert [row.format for row in annotations] == ["mcq"] * 6 + ["number"] and annotations[0].source == "tape | 7"
    provenance = [json.loads(line) for line in files["provenance.jsonl"].splitlines()]
    assert [row["question"] for row in provenance] == [e.item["provenance"]["question"] for e in content.entries]
    card = hf_dataset.parse_card(files["README.md"])
    assert (card.license, card.splits[0].num_examples, card.size_categories) == ("cc-by-4.0", 7, ["n<1K"])
    assert "First \\| of \\*many\\*" in card.body and "| tape \\| 7 | 7 | 100.0 % |" in card.body
    assert "1 of 7 keys have no proof" in card.body and content.sha256 in card.body
    manifest = json.loads(files["release.json"])
    assert manifest["counts"]["kind"] == {"number": 1, "single": 6} and manifest["number"] == 1
    told = {one["path"]: one["sha256"] for one in manifest["files"]}
    for path, data in files.items():
        if path != "release.json":
            assert told[path] == hashlib.sha256(data).hexdigest(), path
    described = croissant.parse(files["croissant.json"])
    assert described.files[0].sha256 == told["data/test-00000-of-00001.parquet"]
    assert {field.column for field in described.record_sets[0].fields} == set(hf_dataset.COLUMNS) - {"gt_events"}
    task = lmms_eval.parse(files["lmms_eval/one_r1_test.yaml"])
    assert task.dataset_kwargs == {"data_files": {"test": "data/test-00000-of-00001.parquet"}}


def test_the_pictures_are_well_formed_and_say_what_they_show(content: release_folder.Content) -> None:
    from xml.etree import ElementTree

    files = release_folder.metadata(content)
    for what in ("category", "source", "difficulty", "kind", "letter", "split"):
        tree = ElementTree.fromstring(files[f"composition/{what}.svg"])
        words = [node.text for node in tree.iter() if node.text]
        assert words and tree.attrib["role"] == "img"
    source = files["composition/source.svg"].decode()
    assert "All 7 items: tape | 7" in source


def test_a_folder_appears_whole_with_its_clips(content: release_folder.Content, tmp_path: Path) -> None:
    paths = release_folder.write_folder(content, tmp_path / "out")
    manifest = json.loads((tmp_path / "out/release.json").read_text())
    there = {p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert there == set(paths) == {one["path"] for one in manifest["files"]} | {"release.json"}
    for one in manifest["files"]:
        data = (tmp_path / "out" / one["path"]).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (one["bytes"], one["sha256"]), one["path"]
    with pytest.raises(Refused, match="holds something"):
        release_folder.write_folder(content, tmp_path / "out")


def test_what_fails_or_was_killed_leaves_nothing_half(content: release_folder.Content, tmp_path: Path) -> None:
    left = tmp_path / ".out.part"
    left.mkdir()
    (left / "stray").write_text("of a killed attempt")
    name = f"clips/{content.entries[0].item['clip']['recipe']}/clip.mp4"
    path = Path(default_storage.path(name))
    data = path.read_bytes()
    path.write_bytes(b"other bytes")
    with pytest.raises(Refused, match="not the one that was released"):
        release_folder.write_folder(content, tmp_path / "out")
    path.unlink()
    with pytest.raises(Refused, match="no longer there"):
        release_folder.write_folder(content, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(data)
    release_folder.write_folder(content, tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert not (tmp_path / "out/stray").exists()


def test_a_full_disk_is_the_releases_own_and_leaves_nothing(
    content: release_folder.Content, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the disk of the clip that was being copied, as the system has it."""
    copy = shutil.copyfile

    def to_a_full_disk(source: Path, target: Path) -> Any:
        target.symlink_to("/dev/full")
        return copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", to_a_full_disk)
    with pytest.raises(OSError) as caught:
        release_folder.write_folder(content, tmp_path / "out")
    assert about_files(caught.value, Path("data")) == f"The disk that holds {tmp_path / 'out'} is full."
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    assert release_folder.write_folder(content, tmp_path / "out")


def test_what_was_withdrawn_or_retired_is_told(scene: Any, people: SimpleNamespace) -> None:
    goes = make_scene(people.one, people.alice)
    accept(scene, 2)
    accept(goes, 1)
    release = cut(people.one)
    whole = release_folder.metadata(release_folder.content_of(release))
    releases.retire(item=release.items.get(position=1), user=people.cora, reason="A <mirror>.")
    delete_video(video=Video.objects.get(id=goes.video.id))
    release.refresh_from_db()
    content = release_folder.content_of(release)
    files = release_folder.metadata(content)
    kept = [path for path in whole if path.startswith("json/") and not path.endswith("qa0003.json")]
    assert all(files[path] == whole[path] for path in kept)  # what is left stays byte for byte
    assert not [path for path in files if path.endswith("qa0003.json")]
    manifest = json.loads(files["release.json"])
    assert [one["number"] for one in manifest["withdrawn"]] == [3] and manifest["retired"] == [1]
    assert manifest["sha256"] == release.sha256
    (retired,) = json.loads(files["retired.json"])
    assert (retired["number"], retired["reason"], len(retired["date"])) == (1, "A <mirror>.", 10)
    assert "## Withdrawn" in files["README.md"].decode() and "A \\<mirror\\>." in files["README.md"].decode()


# ---------------------------------------------------------------------------------------------------------------------
# The same bytes everywhere

SCRIPT = """
import django, sys, hashlib
django.setup()
from webapp.bench import releases
from webapp.exchange import release_folder, release_plots
from webapp.library.models import Project
made = releases.draft(project=Project.objects.get(slug="one"), notes="as ever", shares={"test": 3, "dev": 1})
sys.stdout.buffer.write(release_folder.pack(release_folder.metadata(release_folder.content_of_draft(made))))
"""


@pytest.mark.django_db(transaction=True)
def test_the_same_rows_give_the_same_bytes_in_other_surroundings(people: SimpleNamespace, tmp_path: Path) -> None:
    for n in range(4):
        made = make_scene(people.one, people.alice, source_recording=f"Ğüneş {n}")
        accept(made, 4, raters=(people.bob, people.rita, people.vera))
    clone = tmp_path / "clone"
    for part in ("ml", "webapp", "workers"):
        shutil.copytree(ROOT / part, clone / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(Path(settings.DATA) / "media", tmp_path / "data" / "media")
    surroundings = [
        ({"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "1"}, ROOT),
        ({"TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "77"}, clone),
    ]
    found = [run(env, folder, tmp_path / "data") for env, folder in surroundings]
    made_here = releases.draft(project=people.one, notes="as ever", shares={"test": 3, "dev": 1})
    files = release_folder.metadata(release_folder.content_of_draft(made_here))
    names, here = [], release_folder.pack(files)
    for data in (*found, here):
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names.append({name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()})
    assert names[0] == names[1] == names[2]  # which file differs
    assert found[0] == found[1] == here
    with transaction.atomic():
        kept = releases.keep(made=made_here, user=None, id=uuid.uuid4())
    assert release_folder.metadata(release_folder.content_of(kept)) == files  # from the rows as from the draft


def run(env: dict[str, str], folder: Path, data: Path) -> bytes:
    host = quote(str(settings.SOCKETS), safe="")
    name = connection.settings_dict["NAME"]
    whole = os.environ | env | {
        "DATABASE_URL": f"postgres://sightline@{host}/{name}", "SIGHTLINE_DB_POOL": "0", "SIGHTLINE_DATA": str(data),
        "PYTHONPATH": str(folder), "DJANGO_SETTINGS_MODULE": "webapp.settings",
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=folder, env=whole, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.bench
def test_bench_a_release_of_a_thousand_items(people: SimpleNamespace, tmp_path: Path, figure: Any) -> None:
    """Freeze, lint, agreement, rows and the folder with clips; answers of three raters each, over 20 videos."""
    raters = (people.bob, people.rita, people.vera)
    for n in range(20):
        accept(make_scene(people.one, people.alice, source_recording=f"tape {n}"), 50, raters=raters)
    began = time.process_time()
    marks: list[tuple[str, float]] = []
    made = releases.draft(project=people.one, progress=lambda stage, _: marks.append((stage, time.process_time())))
    kept = releases.keep(made=made, user=None, id=uuid.uuid4())
    paths = release_folder.write_folder(release_folder.content_of(kept), tmp_path / "out")
    took = time.process_time() - began
    starts = {stage: at - began for stage, at in reversed(marks)}
    note = f"processor time; {len(paths)} files; " + ", ".join(f"{s} from {at:.1f} s" for s, at in starts.items())
    figure("release of 1,000 items", took, "s", budget=60, note=note)
    assert kept.items.count() == 1000 and took < 120


# ---------------------------------------------------------------------------------------------------------------------
# The checker


def test_the_checker_finds_nothing_wrong_and_what_was_changed(
    content: release_folder.Content, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "out"
    release_folder.write_folder(content, out)
    assert check_release.main([str(out), "--own"]) == 0
    for change, sentence in (
        (lambda: (out / "composition/letter.svg").unlink(), "composition/letter.svg is missing."),
        (lambda: (out / "annotations.jsonl").write_text("{}"), "annotations.jsonl is not the file that was released."),
        (lambda: (out / "stray").write_text(""), "stray was not part of the release."),
    ):
        change()
        capsys.readouterr()
        assert check_release.main([str(out), "--own"]) == 1
        assert sentence in capsys.readouterr().err.splitlines()
    (out / "release.json").write_text('{"files": [{"path": "../etc"}]}')
    assert check_release.main([str(out), "--own"]) == 2
    assert "leads out of the folder" in capsys.readouterr().err


def test_the_checker_sees_layouts_that_disagree(content: release_folder.Content, tmp_path: Path) -> None:
    out = tmp_path / "out"
    release_folder.write_folder(content, out)
    path = sorted((out / "json").glob("*.json"))[0]
    path.write_text(path.read_text().replace("Person 2", "Person 1", 1))
    manifest = json.loads((out / "release.json").read_text())
    for one in manifest["files"]:
        one["sha256"] = hashlib.sha256((out / one["path"]).read_bytes()).hexdigest()
    (out / "release.json").write_text(json.dumps(manifest))
    assert [sentence.partition(": ")[0] for sentence in check_release.check(out)] == [path.name]


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_the_tools_of_the_field_read_a_release(content: release_folder.Content, tmp_path: Path, capsys: Any) -> None:
    """mlcroissant, datasets and pandas, in a throw-away environment (or the one SIGHTLINE_CHECK_VENV names)."""
    release_folder.write_folder(content, tmp_path / "out")
    kept = os.environ.get("SIGHTLINE_CHECK_VENV")
    code = check_release.main([str(tmp_path / "out"), *(["--venv", kept] if kept else [])])
    assert code == 0, capsys.readouterr().err


def test_the_licence_is_that_of_the_released_videos() -> None:
    """Not the project's, whose other videos are under others."""
    items = [{"video": {"licence": word}} for word in ("MIT", "Apache-2.0", "", "MIT")]
    assert release_folder.licence_of(items[:1], "CC BY 4.0") == "MIT"
    assert release_folder.licence_of(items, "CC BY 4.0") == "Apache-2.0; MIT"
    assert release_folder.licence_of(items[2:3], "CC BY 4.0") == "CC BY 4.0"


def test_the_pictures_say_what_is_so() -> None:
    assert "largest group is b (2 of 5)" in release_plots.finding("category", {"a": 1, "b": 2, "c": 1, "d": 1})
    assert "most are b (3 of 4)" in release_plots.finding("category", {"a": 1, "b": 3})
    assert release_plots.finding("category", {"a": 2, "b": 2, "c": 1}) == (
        "Items by category: 2 of 3 have 2 of 5 each, the most"
    )


def test_the_card_speaks_of_intervals_only_where_there_are_some(content: release_folder.Content) -> None:
    text = release_folder.metadata(content)["README.md"].decode()
    assert "without intervals, which need answers about two videos or more" in text
    order = [
        line.split("|")[1].strip() for line in text.splitlines() if line.startswith(("| easy", "| medium", "| hard"))
    ]
    assert order == sorted(order, key=["easy", "medium", "hard"].index) and order
