"""The Celery application of the workers: `celery -A workers.app worker -Q cpu,gpu`.

Tasks take a job's id, nothing else: the job row holds the parameters. Queues: cpu (imports, derivations), gpu
(perception), train.
"""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
os.environ["SIGHTLINE_DB_POOL"] = "0"  # a pool's threads do not survive the fork of the task processes
os.environ["SIGHTLINE_LOCK_WAIT"] = "0"  # jobs wait for rows as long as it takes

import django

django.setup()

import logging  # noqa: E402
import multiprocessing  # noqa: E402
import pkgutil  # noqa: E402
from typing import Any  # noqa: E402

from celery.signals import worker_init, worker_process_init  # noqa: E402
from django.core.files.storage import default_storage  # noqa: E402
from django.db import DatabaseError, connection  # noqa: E402

from webapp.jobs.broker import app  # noqa: E402
from webapp.studio.processes import die_with_parent  # noqa: E402
from workers import tasks  # noqa: E402

PARENT = os.getpid()
log = logging.getLogger(__name__)


@worker_process_init.connect
def settle(**_: Any) -> None:
    """A task process dies with its worker, however that one dies, and may start processes of its own."""
    die_with_parent(parent=PARENT)
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]


@worker_init.connect
def check_store(**_: Any) -> None:
    """Say at once when this worker does not see the files of the pages: every job of it would fail."""
    if not os.environ.get("BROKER_URL"):
        return  # the launcher's own worker, beside its store
    from webapp.library.models import Blob

    try:
        newest = Blob.objects.filter(ready=True).order_by("-created").first()
    except DatabaseError:  # it is away now; jobs wait for it
        newest = None
    finally:
        connection.close()
    if newest is not None and not default_storage.exists(newest.original):
        log.error(
            "The newest video's file %s is not in this worker's store: set STORAGE_URL to one that this machine shares "
            "with the web process.", newest.original,
        )  # fmt: skip


app.conf.worker_proc_alive_timeout = 60  # seconds; on a busy machine a fork takes longer than Celery's 4
app.conf.include = [f"workers.tasks.{module.name}" for module in pkgutil.iter_modules(tasks.__path__)]

__all__ = ["app"]
