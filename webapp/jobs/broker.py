"""The Celery application as the web side knows it: it sends messages by task name and imports no worker code."""

from __future__ import annotations

import logging
import threading

from celery import Celery
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

app = Celery("sightline")
app.config_from_object("django.conf:settings", namespace="CELERY")


def send(*, kind: str, job_id: str, queue: str) -> bool:
    """Tell the workers to look at a job. False when the broker is away: the reaper tells them again later."""
    try:
        app.send_task(f"sightline.{kind}", args=[job_id], queue=queue, retry=False)
    except (OperationalError, OSError) as error:
        log.warning("The broker does not answer (%s); job %s waits for the reaper.", error, job_id)
        return False
    return True


SOON_S = 0.05  # by then the answer of the request is on its way, and the interpreter is free for the message


def send_soon(*, kind: str, job_id: str, queue: str) -> None:
    """As `send`, from a thread and a moment later; a process that ends waits for it."""
    threading.Timer(SOON_S, send, kwargs={"kind": kind, "job_id": job_id, "queue": queue}).start()


def waiting(queue: str) -> int | None:
    """Messages in a queue that no worker has taken yet; None when the broker is away."""
    try:
        with app.connection_for_read() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=2)
            channel = connection.default_channel
            return int(channel.queue_declare(queue=queue, passive=False, durable=True).message_count)
    except (OperationalError, OSError):
        return None


def give_back_unacknowledged() -> int:
    """Put every message of dead workers back into its queue; only while no worker of this broker lives.

    The Redis transport keeps a taken message until its visibility timeout (hours) unless asked like this. Returns the
    number of messages that could not be given back.
    """
    with app.connection_for_write() as connection:
        channel = connection.default_channel
        if not hasattr(channel, "unacked_index_key"):
            return 0  # RabbitMQ gives them back by itself
        channel.visibility_timeout = 0
        channel.client.delete(channel.unacked_mutex_key)  # of a worker killed in its own sweep; it would live 5 minutes
        left = int(channel.client.zcard(channel.unacked_index_key))
        while left:
            channel.qos.restore_visible(num=1000, interval=1)
            now = int(channel.client.zcard(channel.unacked_index_key))
            if now >= left:
                log.warning("%d messages of dead workers could not be given back.", now)
                break
            left = now
        return left
