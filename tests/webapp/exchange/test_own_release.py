"""A release brought back into the project it came from is known there, item by item."""

from __future__ import annotations

import json
import random
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from ml.formats.grasp_items import parse_item
from ml.questions.taxonomy import CATEGORIES
from tests.webapp.bench.released import CLIP, accept
from tests.webapp.bench.scene import Scene, make_scene
from webapp.bench import releases
from webapp.bench.models import Question
from webapp.exchange.grasp_items import Imported, import_file
from webapp.exchange.release_items import annotation, grasp_item

pytestmark = pytest.mark.django_db

WORDINGS = (
    "At {{t:{a}}}, who follows the gaze of {{p:{p}}} ({n})?",
    "From {{t:{a}}} to {{t:{b}}}, where does {{p:{p}}} look, {{{{as seen}}}} in part {n}?",
    "What does {{p:{p}}} do between {{t:{a}}} and {{t:{b}}}, before {{p:{q}}} looks up at {{t:{c}}} ({n})?",
    "How long do {{p:{p}}} and {{p:{q}}} look at each other in part {n}?",
)


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)


@pytest.fixture
def scene(people: SimpleNamespace) -> Scene:
    return make_scene(people.one, people.alice)


def uneven(scene: Scene, rng: random.Random) -> None:
    """Frames from 10 to 40 ms apart, so that a tenth of a second may stand for several."""
    blob = scene.video.blob
    assert blob is not None
    times = BytesIO()
    pts = np.cumsum([0, *(rng.choice((1, 2, 4)) for _ in range(550))])
    np.savez(times, pts=pts, time_base=np.array([1, 100]), counts=np.zeros(3, np.int64))
    default_storage.delete(f"{blob.folder}/frames.npz")
    default_storage.save(f"{blob.folder}/frames.npz", ContentFile(times.getvalue()))


def released(scene: Scene, path: Path) -> list[dict[str, Any]]:
    made = releases.draft(project=scene.video.project)
    items = [grasp_item(item, number) for number, item in enumerate(made.items, 1)]
    path.write_text(json.dumps(items))
    return items


def again(scene: Scene, path: Path) -> Imported:
    return import_file(path=path, project=scene.video.project, user=None)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_of_it_is_new(tmp_path: Path, scene: Scene, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    uneven(scene, rng)
    monkeypatch.setattr(releases, "lint", lambda items: {})  # the wordings are drawn, not meant
    people = [str(person.id) for person in scene.people]
    for n in range(24):
        a, b, c = sorted(rng.sample(range(*CLIP), 3))
        p, q = rng.sample(people, 2)
        text = WORDINGS[n % len(WORDINGS)].format(a=a, b=b, c=c, p=p, q=q, n=n)
        accept(scene, 1, text=text, category=rng.choice(list(CATEGORIES)), proven=False)
    items = released(scene, tmp_path / "own.json")
    assert {"T3", "T4", "T5", "G4", "G5", "G6"} & {item["qa"]["category"] for item in items}  # a scheme is needed
    before = Question.objects.count()
    done = again(scene, tmp_path / "own.json")
    assert (done.questions, done.here, done.left_out) == ([], list(range(24)), [])
    assert Question.objects.count() == before == 24


def test_another_moment_is_another_question(tmp_path: Path, scene: Scene) -> None:
    accept(scene, 1)
    (item,) = released(scene, tmp_path / "own.json")
    assert item["qa"]["question"].startswith("At 1.5 s")
    item["qa"]["question"] = item["qa"]["question"].replace("1.5 s", "1.7 s")
    (tmp_path / "own.json").write_text(json.dumps([item, item]))
    done = again(scene, tmp_path / "own.json")
    assert ([q.shown[:8] for q in done.questions], done.here) == (["At 4.2 s"], [1])


def test_a_video_is_known_by_its_hash_whatever_its_name(tmp_path: Path, scene: Scene) -> None:
    accept(scene, 1)
    released(scene, tmp_path / "own.json")
    scene.video.name = "renamed.mp4"
    scene.video.save()
    assert again(scene, tmp_path / "own.json").here == [0]


def test_every_line_names_its_scheme(scene: Scene) -> None:
    accept(scene, 1)
    (item,) = releases.draft(project=scene.video.project).items
    assert parse_item(grasp_item(item, 1)).scheme == "data" == annotation(item, 1, "test", "")["scheme"]
    assert parse_item(grasp_item(item, 1) | {"scheme": "roman"}).scheme is None
