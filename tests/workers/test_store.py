"""A worker that does not see the files of the pages says so when it starts."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from webapp.library.models import Blob


@pytest.mark.parametrize("there", [True, False])
def test_a_store_without_the_newest_file_is_said(there: bool, db: None, monkeypatch: Any, caplog: Any) -> None:
    from workers.app import check_store

    monkeypatch.setattr("workers.app.connection.close", lambda: None)  # the test's own transaction
    monkeypatch.setenv("BROKER_URL", "redis://elsewhere")
    blob = Blob.objects.create(sha256="ab" * 32, bytes=3, suffix=".mp4", ready=True)
    if there:
        default_storage.save(blob.original, ContentFile(b"abc"))
    with caplog.at_level(logging.ERROR, logger="workers.app"):
        check_store()
    said = [record.getMessage() for record in caplog.records]
    assert said == [] if there else ("blobs/abab" in said[0] and "set STORAGE_URL" in said[0])
