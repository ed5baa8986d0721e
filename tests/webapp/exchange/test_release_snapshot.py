"""A snapshot made of a release folder, as on a cluster, is the one that the server makes of the released items."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from types import SimpleNamespace

import pytest

from ml.training import snapshot, sources
from tests.webapp.bench.released import accept
from tests.webapp.bench.scene import make_scene
from webapp.bench import releases
from webapp.bench.models import Question
from webapp.exchange import release_folder
from webapp.lib import storage


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)


def test_a_release_folder_gives_the_rows_of_the_server(people: SimpleNamespace, tmp_path: Path) -> None:
    scene = make_scene(people.one, people.alice, source_recording="tape | 7")
    accept(scene, 1, raters=(people.bob, people.rita))
    accept(scene, 2, proven=False)
    number = Question.objects.get(number=2)
    Question.objects.filter(id=number.id).update(kind="number", options=[], key=[2], origin="human", text="How many?")
    Question.objects.filter(number=3).update(kind="multiple", origin="human")
    release = releases.keep(made=releases.draft(project=people.one), user=None, id=uuid.uuid4())
    items = list(release.items.order_by("position"))
    ours = [
        snapshot.row_of(one.item, sha256=one.sha256, release=release.number, release_split=one.split) for one in items
    ]
    assert [row.id for row in ours] == [snapshot.row_of(one.item).id for one in items]  # the hash of the release
    folder = tmp_path / "release"
    release_folder.write_folder(release_folder.content_of(release), folder)
    found = sources.release(folder)
    assert found.rows == ours and {row.kind for row in ours} == {"single", "number", "multiple"}
    assert found.made_of == {"release": {"project": people.one.slug, "number": 1, "hash": release.sha256}}
    assert ours[0].provenance["question"] == str(items[0].question_id) and ours[0].visible
    assert ours[0].reasoning.startswith("<think>\n") and ours[0].stages == ("sft", "grpo")

    recipes = {one.item["clip"]["sha256"]: one.item["clip"]["recipe"] for one in items}
    with_clips = snapshot.build(
        ours, lambda sha256: storage.local_path(f"clips/{recipes[sha256]}/clip.mp4") or Path(), tmp_path / "a", name="a"
    )
    assert snapshot.main([str(folder), str(tmp_path / "b")]) == 0
    assert snapshot.check(tmp_path / "b")["hash"] == with_clips["hash"]
    assert (tmp_path / "a/rows.jsonl").read_bytes() == (tmp_path / "b/rows.jsonl").read_bytes()
    assert "3 items of training are in the split “test” of release 1" in with_clips["leaks"][0]

    manifest = json.loads((folder / "release.json").read_text())
    (folder / "release.json").write_text(json.dumps(manifest | {"retired": [2]}))
    fewer = sources.release(folder)
    assert [row.id for row in fewer.rows] == [row.id for at, row in enumerate(ours) if at != 1]
    assert fewer.left_out == {sources.RETIRED: 1}
