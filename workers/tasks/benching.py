"""Work of the bench: making questions, running proofs again, computing agreement.

Results and logs of these jobs are read by everybody in the project: they hold counts, never a key nor why one fell.
"""

from __future__ import annotations

from celery import Task

from webapp.jobs import services as jobs
from webapp.jobs.broker import app
from webapp.library.models import Project, Video
from workers.attempt import Attempt, run


@app.task(name="sightline.generate", bind=True)
def generate_questions(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, generate)


@app.task(name="sightline.prove", bind=True)
def prove_questions(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, prove)


@app.task(name="sightline.agreement", bind=True)
def compute_agreement(task: Task, job_id: str) -> str:
    return run(job_id, task.request.hostname, agree)


def generate(attempt: Attempt) -> None:
    """One transaction a video, so that a killed job loses nothing: what is there is not made twice."""
    from webapp.bench.generation import Generated, generate_for, letters_of

    job, wanted = attempt.job, attempt.job.parameters
    videos = videos_of(attempt)
    total, skipped = Generated(), 0
    letters = letters_of(job.project)
    for done, video in enumerate(videos):
        attempt.progress("generate", done / len(videos))
        if not ready(video):
            skipped += 1
            continue
        total.add(
            generate_for(
                video=video,
                user=job.created_by,
                seed=wanted["seed"],
                categories=wanted["categories"],
                most=wanted["most"],
                letters=letters,
                hold=attempt.hold,
            )
        )
    attempt.progress("generate", 1.0)
    counts = {"videos": len(videos), "skipped": skipped, "drafts": total.drafts, "questions": total.kept}
    attempt.finish(counts | {"categories": dict(total.categories)})


def prove(attempt: Attempt) -> None:
    from webapp.bench import clips, proving

    videos = [video for video in videos_of(attempt) if video.has_questions and ready(video)]
    counts = {"videos": len(videos), "proofs": 0, "standing": 0, "fell": 0, "rose": 0}
    for done, video in enumerate(videos):
        attempt.progress("prove", done / len(videos))
        result = proving.prove(video)
        counts["proofs"] += result.proofs
        counts["standing"] += result.standing
        counts["fell"] += len(result.fell)
        counts["rose"] += len(result.rose)
        clips.recut(video)
        clips.sweep(video)
    attempt.progress("prove", 1.0)
    attempt.finish(counts, lambda: jobs.forget_done(like=attempt.job) if attempt.job.video_id else None)


def agree(attempt: Attempt) -> None:
    from webapp.bench import agreeing

    project = Project.objects.get(id=attempt.job.project_id)
    attempt.progress("agreement", 0.0)
    found = agreeing.compute(project, progress=attempt.progress)
    attempt.finish({"answers": found.answers}, lambda: agreeing.keep(project=project, found=found))


def videos_of(attempt: Attempt) -> list[Video]:
    """The job's video, or every video of its project."""
    job = attempt.job
    found = Video.objects.filter(id=job.video_id) if job.video_id else Video.objects.filter(project=job.project_id)
    return list(found.select_related("project").order_by("created", "id"))


def ready(video: Video) -> bool:
    """Its frame times are known, so facts can be told of it."""
    return video.state == Video.State.READY and (video.has_pixels or video.run_id is not None)
