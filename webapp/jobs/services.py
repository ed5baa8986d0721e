"""Every change of a job row. The row is the truth; a message only tells a worker to look at it.

Rows are locked in one order everywhere: a video, then its jobs.

An attempt holds the job by a token (`claim`): whoever lost it writes nothing any more. An attempt is counted when it is
claimed; after `ATTEMPTS` the job fails instead of going round for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from webapp.accounts.models import User
from webapp.jobs import broker
from webapp.jobs.models import DeviceLease, Job
from webapp.lib.errors import Refused
from webapp.lib.hosts import is_dead
from webapp.library.models import Project, Video

ATTEMPTS = 3
LOG_LIMIT = 16 * 1024
WAITING_LIMIT = timedelta(seconds=30)
LIVE = (Job.State.QUEUED, Job.State.RUNNING)
FINAL = (Job.State.DONE, Job.State.FAILED, Job.State.CANCELLED)


class ClaimLost(Exception):
    """Another attempt, or nobody, holds the job now: this one stops and writes nothing."""


class JobError(Refused):
    """A change that the job's state does not allow."""


Follower = Callable[[Job], None]
_followers: dict[str, Follower] = {}


def follow(kind: str, follower: Follower) -> None:
    """Have a function called with each job of a kind that ends or is queued again, in the same transaction.

    The job's row is locked then, and its video's: the function may write to that.
    """
    _followers[kind] = follower


def _tell(job: Job) -> None:
    follower = _followers.get(job.kind)
    if follower is not None:
        follower(job)


def _lock_video(job: Job | None, *, skip_locked: bool = False) -> bool:
    """Lock the video that follows this job, as a deletion does before it comes to the job. Whether the job can be next:
    not where somebody else has the video and the lock is not waited for.
    """
    if job is None or job.video_id is None or job.kind not in _followers:
        return True
    rows = Video.objects.select_for_update(no_key=True, skip_locked=skip_locked).filter(id=job.video_id)
    return rows.values_list("id").first() is not None or not skip_locked


def create(
    *,
    project: Project,
    kind: str,
    queue: str,
    video: Video | None = None,
    parameters: dict[str, Any] | None = None,
    user: User | None = None,
) -> Job:
    """A queued job; its message goes out when the transaction commits."""
    job = Job.objects.create(
        project=project, video=video, kind=kind, queue=queue, parameters=parameters or {}, created_by=user
    )
    enqueue(job=job)
    return job


# A queued job with all columns at their defaults, unless one like it waits already
CREATE_ONCE = """
INSERT INTO jobs_job (id, project_id, video_id, kind, queue, parameters, state, stage, share, stages, log,
    result, error, worker, attempts, cancel_requested, created)
SELECT %(id)s, %(project)s, %(video)s, %(kind)s, %(queue)s, '{}', 'queued', '', 0, '[]', '', '{}', '', '', 0, false,
    %(now)s
WHERE NOT EXISTS (SELECT 1 FROM jobs_job j WHERE j.video_id = %(video)s AND j.kind = %(kind)s AND j.state = 'queued')
"""


def create_once(*, project_id: UUID, video_id: UUID, kind: str, queue: str) -> bool:
    """On the path of saves: a queued job nobody asked for, unless one of its kind waits for the video: one statement.

    Its message goes out a moment after the commit, from a thread: whoever saves does not wait for the broker. Lost with
    the process, it is sent again like any other (`resend_waiting`).
    """
    id, now = uuid4(), timezone.now()
    values: dict[str, Any] = {
        "id": id,
        "project": project_id,
        "video": video_id,
        "kind": kind,
        "queue": queue,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(CREATE_ONCE, values)
        made = cursor.rowcount == 1
    if made:
        transaction.on_commit(lambda: broker.send_soon(kind=kind, job_id=str(id), queue=queue))
    return made


def forget_done(*, like: Job) -> None:
    """Remove the older jobs of this kind and video that nobody asked for and that are done: their results are old."""
    done = Job.objects.filter(kind=like.kind, video=like.video_id, created_by=None, state=Job.State.DONE)
    done.exclude(id=like.id).delete()


def enqueue(*, job: Job) -> None:
    kind, queue, job_id = job.kind, job.queue, str(job.id)
    transaction.on_commit(lambda: broker.send(kind=kind, job_id=job_id, queue=queue))


@transaction.atomic
def claim(*, job_id: UUID | str, worker: str, devices: Mapping[str, list[str]] | None = None) -> Job | None:
    """Take a job for this worker, and one free device if its queue is among `devices` (queue -> names).

    None when there is nothing to do: the job is gone, final, held by a living attempt, out of attempts, or no device
    is free (it then stays queued). `worker` is a name of `webapp.lib.hosts.process_name`.
    """
    _lock_video(Job.objects.filter(id=job_id).only("kind", "video_id").first())
    job = Job.objects.select_for_update().filter(id=job_id).first()
    if job is None or job.state in FINAL:
        return None
    if job.state == Job.State.RUNNING:
        if not is_dead(job.worker):
            return None
        release(job=job, reason=f"The worker {job.worker} is gone.")
    if job.cancel_requested:
        _end(job, Job.State.CANCELLED)
        return None
    if job.attempts >= ATTEMPTS:
        _end(job, Job.State.FAILED, error=f"Given up after {ATTEMPTS} attempts: each time its worker died.")
        return None
    if devices and job.queue in devices and not _lease(job, devices[job.queue]):
        return None
    job.state, job.claim, job.worker = Job.State.RUNNING, uuid4(), worker
    job.attempts += 1
    job.started = job.heartbeat = timezone.now()
    job.stage, job.share, job.stages, job.error, job.ended = "", 0, [], "", None
    job.save()
    return job


def _lease(job: Job, devices: list[str]) -> bool:
    """Whether one of the devices could be leased to the job."""
    for device in devices:
        try:
            with transaction.atomic():
                DeviceLease.objects.create(device=device, job=job)
            return True
        except IntegrityError:
            continue
    return False


def held(*, job: Job) -> Job:
    """The locked row, for the last transaction of an attempt. Raises ClaimLost. Call inside `atomic`."""
    row = Job.objects.select_for_update().filter(id=job.id, claim=job.claim, state=Job.State.RUNNING).first()
    if row is None:
        raise ClaimLost(f"Job {job.id} is no longer this attempt's.")
    return row


def beat(*, job: Job, stage: str, share: float, stages: dict[str, float] | None = None, lines: str = "") -> bool:
    """Show that the attempt lives and how far it is: one statement. True when somebody asked to cancel it.

    `lines` are added to the job's log. Raises ClaimLost. The worker throttles its calls.
    """
    fields: dict[str, Any] = {"heartbeat": timezone.now(), "stage": stage[:40], "share": min(1.0, max(0.0, share))}
    if stages is not None:
        fields["stages"] = in_order(stages)
    rows = Job.objects.filter(id=job.id, claim=job.claim, state=Job.State.RUNNING)
    if not rows.update(**fields):
        raise ClaimLost(f"Job {job.id} is no longer this attempt's.")
    if lines:
        log(job=job, line=lines)
    return bool(rows.values_list("cancel_requested", flat=True).first())


@transaction.atomic
def log(*, job: Job, line: str) -> None:
    """Add a line to the log, which keeps its last 16 kB. Raises ClaimLost."""
    row = held(job=job)
    row.log = tail(f"{row.log}{line.rstrip()}\n")
    row.save(update_fields=["log"])


def in_order(stages: Mapping[str, float]) -> list[list[Any]]:
    """Stages as the row keeps them: a JSON object would lose their order in the database."""
    return [[name, round(seconds, 2)] for name, seconds in stages.items()]


def tail(text: str) -> str:
    """The last whole lines of a text within the limit, counted in UTF-8 bytes."""
    data = text.encode()
    if len(data) <= LOG_LIMIT:
        return text
    return data[-LOG_LIMIT:].decode(errors="ignore").partition("\n")[2]


@transaction.atomic
def finish(*, job: Job, result: dict[str, Any], stages: dict[str, float] | None = None, lines: str = "") -> None:
    """The attempt succeeded; `lines` end its log. In the same transaction as its results; raises ClaimLost, which
    undoes them.
    """
    row = held(job=job)
    row.result, row.share, row.log = result, 1, tail(row.log + lines)
    if stages is not None:
        row.stages = in_order(stages)
    _end(row, Job.State.DONE)


@transaction.atomic
def fail(*, job: Job, error: str, reason: str = "input", lines: str = "") -> None:
    """The attempt ended with a sentence for the user. Raises ClaimLost.

    `reason`: input (what was given), disk (full), weights (model weights missing), endpoint (it did not answer) or
    fault (ours); kept as result["reason"].
    """
    _lock_video(job)
    row = held(job=job)
    row.result, row.log = {"reason": reason}, tail(row.log + lines)
    _end(row, Job.State.FAILED, error=error)


@transaction.atomic
def cancelled(*, job: Job) -> None:
    """The attempt stopped because it was asked to. Raises ClaimLost."""
    _lock_video(job)
    _end(held(job=job), Job.State.CANCELLED)


@transaction.atomic
def cancel(*, job: Job, user: User | None) -> Job:
    """Ask a job to stop: a queued one is final at once, a running one within seconds. Raises JobError."""
    _lock_video(job)
    row = Job.objects.select_for_update().get(id=job.id)
    if row.state in FINAL:
        raise JobError(f"The job is over already: {row.state}.")
    row.cancel_requested = True
    row.log = tail(f"{row.log}Cancel asked for by {user.username if user else 'a command'}.\n")
    if row.state == Job.State.QUEUED or is_dead(row.worker):
        _end(row, Job.State.CANCELLED)
    else:
        row.save(update_fields=["cancel_requested", "log"])
    return row


@transaction.atomic
def retry(*, job: Job, user: User | None) -> Job:
    """Queue a failed or cancelled job again, with all its attempts. Raises JobError."""
    _lock_video(job)
    row = Job.objects.select_for_update().get(id=job.id)
    if row.state not in (Job.State.FAILED, Job.State.CANCELLED):
        raise JobError(f"Only a failed or cancelled job can be tried again; this one is {row.state}.")
    row.state, row.attempts, row.cancel_requested = Job.State.QUEUED, 0, False
    row.stage, row.share, row.stages, row.error = "", 0, [], ""
    row.started = row.ended = row.heartbeat = row.claim = None
    row.log = tail(f"{row.log}Tried again by {user.username if user else 'a command'}.\n")
    row.save()
    _tell(row)
    enqueue(job=row)
    return row


def release(*, job: Job, reason: str, count_attempt: bool = True) -> None:
    """Take a running job away from its attempt and queue it again. Call with the row locked.

    An attempt that ended in good order (`count_attempt` false) does not use up one of the job's attempts.
    """
    DeviceLease.objects.filter(job=job).delete()
    job.log = tail(f"{job.log}{reason}\n")
    job.claim, job.worker, job.heartbeat = None, "", None
    if not count_attempt:
        job.attempts -= 1
    if job.cancel_requested:
        _end(job, Job.State.CANCELLED)
    elif job.attempts >= ATTEMPTS:
        _end(job, Job.State.FAILED, error=f"Given up after {ATTEMPTS} attempts: each time its worker died.")
    else:
        job.state = Job.State.QUEUED
        job.save()
        _tell(job)


def requeue_lost(*, older_than: timedelta | None = None) -> int:
    """Queue running jobs again whose heartbeat is too old, or whose worker was on this host and is gone.

    One that somebody else has locked is left for the next time.
    """
    age = timedelta(seconds=settings.HEARTBEAT_LIMIT_S) if older_than is None else older_than
    limit = timezone.now() - age

    def lost(job: Job) -> bool:
        return job.heartbeat is None or job.heartbeat < limit or is_dead(job.worker)

    running = filter(lost, Job.objects.filter(state=Job.State.RUNNING).defer("log"))
    return sum(_requeue(job, lost, "The worker {} gave no sign of life.", skip_locked=True) for job in running)


def requeue_of(*, node: str, in_order: bool = False) -> int:
    """Queue the running jobs of one worker node again, at once: its processes are known to be gone.

    `node` is the node's name or its end, such as `.STUDIO`, which means every worker of that studio.
    """
    reason = "The studio was stopped." if in_order else "The worker died."

    def held_there(job: Job) -> bool:
        return f"{node}/" in job.worker

    running = Job.objects.filter(state=Job.State.RUNNING, worker__contains=f"{node}/").defer("log")
    return sum(_requeue(job, held_there, reason, count_attempt=not in_order) for job in running)


@transaction.atomic
def _requeue(
    seen: Job, still: Callable[[Job], bool], reason: str, *, count_attempt: bool = True, skip_locked: bool = False
) -> bool:
    """Release a running job and send it again, if that is `still` called for once its row is locked."""
    if not _lock_video(seen, skip_locked=skip_locked):
        return False
    rows = Job.objects.select_for_update(skip_locked=skip_locked).filter(id=seen.id, state=Job.State.RUNNING)
    job = rows.first()
    if job is None or not still(job):
        return False
    release(job=job, reason=reason.format(job.worker), count_attempt=count_attempt)
    if job.state == Job.State.QUEUED:
        enqueue(job=job)
    return True


def resend_waiting(*, older_than: timedelta = WAITING_LIMIT) -> int:
    """Send messages again for jobs that wait although their queue is empty: the broker was away, or lost them.

    While a queue holds messages its workers are busy with them, so nothing is sent twice for a mere backlog.
    """
    limit = timezone.now() - older_than
    sent = 0
    for queue in ("cpu", "gpu", "train"):
        jobs = list(Job.objects.filter(state=Job.State.QUEUED, queue=queue, created__lt=limit).order_by("created"))
        if jobs and broker.waiting(queue) == 0:
            sent += sum(broker.send(kind=job.kind, job_id=str(job.id), queue=queue) for job in jobs)
    return sent


def _end(job: Job, state: Job.State, *, error: str = "") -> None:
    """Write a final state, free the device, and tell the next job that may wait for it."""
    freed = DeviceLease.objects.filter(job=job).delete()[0]
    job.state, job.error, job.ended = state, error, timezone.now()
    job.claim = job.heartbeat = None
    job.save()
    _tell(job)
    if freed:
        following = Job.objects.filter(state=Job.State.QUEUED, queue__in=("gpu", "train")).order_by("created").first()
        if following is not None:
            enqueue(job=following)
