"""Questions written by a model: the calls of `ml.questions.written`, what `ml.questions.judging` makes of the replies.

Replies are kept in the job's folder as they come, so an attempt that starts over pays for none of them twice; a video's
questions are kept call by call, and what is asked already is not kept again. Results and logs are read by everybody in
the project: they hold counts, never a key nor why an item was refused.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from celery import Task

from ml.endpoint import BrokenReply, Config
from webapp.jobs.broker import app
from workers.attempt import Attempt, run
from workers.tasks.benching import ready, videos_of

if TYPE_CHECKING:
    from ml.endpoint.client import Endpoint
    from ml.questions.written import Call
    from webapp.bench.writing import Kept
    from webapp.library.models import Video


@app.task(name="sightline.write", bind=True)
def write_questions(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, write)


def write(attempt: Attempt) -> None:
    from ml.endpoint.client import Endpoint
    from webapp.bench.writing import Kept

    videos = videos_of(attempt)
    counts = {"videos": len(videos), "skipped": 0, "calls": 0, "broken": 0, "items": 0}
    kept, share = Kept(), 0.0
    spent: dict[str, Any] = {}
    with Endpoint(Config.from_environment(), stop=lambda: attempt.progress("write", share)) as endpoint:
        try:
            for done, video in enumerate(videos):
                share = done / len(videos)
                attempt.progress("write", share)
                if not ready(video):
                    counts["skipped"] += 1
                    continue
                about(video, attempt, endpoint, counts, kept)
        finally:
            spent = {name: value for name, value in endpoint.spent.as_dict().items() if value is not None}
            attempt.say("Asked of the model: " + ", ".join(f"{name} {value:g}" for name, value in spent.items()) + ".")
    attempt.progress("write", 1.0)
    told = {"questions": kept.proven + kept.unsigned, "proven": kept.proven, "unsigned": kept.unsigned}
    attempt.finish(counts | told | {"known": kept.known, "refused": dict(kept.refused), "spent": spent})


def about(video: Video, attempt: Attempt, endpoint: Endpoint, counts: dict[str, int], kept: Kept) -> None:
    """Everything about one video."""
    from ml.questions.judging import Judge
    from ml.questions.written import plan
    from webapp.bench.facts import facts_of
    from webapp.bench.generation import letters_of
    from webapp.bench.writing import keep_written

    facts = facts_of(video)
    judge = Judge(facts, letters_of(video.project), Random(str(video.id)))
    for call in plan(facts):
        counts["calls"] += 1
        try:
            reply = answered(call, attempt.folder, endpoint)
        except BrokenReply:
            counts["broken"] += 1
            continue
        sheet = call.shape.model_validate(reply["said"])
        counts["items"] += len(sheet.items)
        judged = []
        for item in sheet.items:
            one = judge.judge(item, call)
            told = {
                "model": reply["model"],
                "prompt": reply["prompt"],
                "call": call.name,
                "form": getattr(item, "form", "open"),
                "likeness": round(one.likeness, 1),
                "derivation": item.reasoning,
                "unproven": one.unproven,
            }
            judged.append((one, told))
        keep_written(video=video, user=attempt.job.created_by, judged=judged, kept=kept)


def answered(call: Call, folder: Path, endpoint: Endpoint) -> dict[str, Any]:
    """The reply to a call: {"said", "model", "prompt"}; the one that was kept, where the same was asked before."""
    from ml.endpoint.client import system, user, words
    from ml.media.files import write_json
    from ml.questions.written import REPLY_TOKENS, TEMPERATURE

    asked = f"{endpoint.config.model}\n{call.rules}\n{call.task}"
    path = folder / f"reply-{hashlib.sha256(asked.encode()).hexdigest()[:24]}.json"
    if path.exists():
        kept: dict[str, Any] = json.loads(path.read_text())
        return kept
    reply = endpoint.ask(
        [system(call.rules), user(words(call.task))],
        call.shape,
        name="questions",
        temperature=TEMPERATURE,
        max_tokens=REPLY_TOKENS,
    )
    made = {"said": reply.value.model_dump(), "model": reply.model, "prompt": reply.prompt}
    write_json(path, made)
    return made
