"""The look at a draft before it may start: what it will be given, what it takes, and what speaks against it."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from celery import Task

from ml import torchside
from webapp.jobs.broker import app
from webapp.lib.errors import Refused
from webapp.runs import folders, recording, services
from webapp.runs.models import TrainingRun
from workers.attempt import Attempt, run
from workers.tasks.training import start_model

ASKED = "asked.yaml"


@app.task(name="sightline.preflight", bind=True)
def look_before(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, work)


def work(attempt: Attempt) -> None:
    from ml.training import configs
    from ml.training.preflight import preflight, tokenizer_of
    from ml.training.rows import read

    attempt.progress("rows", 0.0)
    wanted = TrainingRun.objects.select_related("snapshot", "parent").filter(id=attempt.job.parameters["run"]).first()
    if wanted is None:
        raise Refused("This run was deleted meanwhile.", "run")
    key = services.preflight_key(wanted)
    if key != attempt.job.parameters["for"]:  # another job looks at what it is now
        return attempt.finish({"run": wanted.number, "outdated": True})
    services.check_whole(wanted.snapshot)
    snapshot, model = folders.snapshot(wanted.snapshot_id), start_model(wanted)
    asked = attempt.folder / ASKED
    asked.write_text(services.settings_file(wanted))
    config = configs.load(asked, wanted.stage)
    told = preflight(
        read(snapshot),
        config,
        tokenizer_of(model),
        model=model,
        snapshot=snapshot,
        leaks=wanted.snapshot.facts.get("leaks", []),
        progress=attempt.progress,
    )
    kind = "warnings" if os.environ.get("BROKER_URL") else "errors"  # elsewhere the workers that train may have them
    told[kind] = [*told[kind], *lacking(config.train.parallel)]

    def ending() -> None:
        recording.keep_preflight(run_id=wanted.id, key=key, told=told)

    attempt.finish({"run": wanted.number, "errors": len(told["errors"])}, ending=ending)


def lacking(parallel: str) -> list[str]:
    """A sentence where packages that training needs are not installed here."""
    from ml.training.session import NEEDED

    names: list[Any] = [*torchside.NEEDED, *NEEDED, *(["deepspeed"] if parallel == "zero2" else [])]
    absent = [name for name in names if importlib.util.find_spec(name) is None]
    return [torchside.needs("Training", absent, " here")] if absent else []
