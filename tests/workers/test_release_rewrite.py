"""The archive of a release that is written again while something of it is withdrawn. The test is the worker."""

from __future__ import annotations

import zipfile
from typing import Any

import pytest
from django.core.files.storage import default_storage

from tests.webapp.bench.conftest import no_broker, scene
from tests.webapp.bench.released import accept
from tests.webapp.bench.scene import Pretended, Scene
from tests.webapp.conftest import people
from webapp.bench import releases, withdrawal
from webapp.jobs import services as jobs
from workers.tasks import releasing

__all__ = ["no_broker", "people", "scene"]
pytestmark = pytest.mark.django_db


def test_what_is_withdrawn_meanwhile_is_not_written_back(
    people: Any, scene: Scene, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(scene, 2)
    release = releases.keep(made=releases.draft(project=people.one), user=None, id=scene.video.id)
    claimed = jobs.claim(job_id=releases.rewrite(release=release).id, worker="here")
    assert claimed is not None
    store = releasing.store
    stored: list[int] = []

    def slowly(attempt: Any, content: Any, id: Any) -> Any:
        if not stored:
            withdrawal.scrub(scene.video)
        stored.append(len(content.entries))
        return store(attempt, content, id)

    monkeypatch.setattr(releasing, "store", slowly)
    attempt = Pretended(claimed)
    attempt.folder = tmp_path  # type: ignore[attr-defined]
    releasing.rewrite(attempt)  # type: ignore[arg-type]
    assert stored == [2, 0]
    with default_storage.open(f"{release.folder}/metadata.zip") as file, zipfile.ZipFile(file) as archive:
        assert not [name for name in archive.namelist() if name.startswith("json/")]
