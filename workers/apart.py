"""What a process of its own, with a model in it, is given of the worker's environment."""

from __future__ import annotations

import os

from webapp.jobs.models import DeviceLease, Job

SECRETS = ("DATABASE_URL", "BROKER_URL", "STORAGE_URL", "SIGHTLINE_SECRET_KEY")  # nothing that a model needs


def environment(job: Job, *, alone: bool = True) -> dict[str, str]:
    """The worker's environment without its secrets; the GPU that the job leased is the only one it sees, unless it is
    not `alone` (several processes, each on a GPU of its own)."""
    env = {name: value for name, value in os.environ.items() if name not in SECRETS}
    lease = DeviceLease.objects.filter(job=job).values_list("device", flat=True).first() or ""
    device = lease.rpartition("/")[2]
    if device.startswith("cuda:") and alone:
        env["CUDA_VISIBLE_DEVICES"] = device.removeprefix("cuda:")
    return env
