"""What a process with a model in it may know of its worker."""

from __future__ import annotations

import pytest

from webapp.jobs.models import DeviceLease, Job
from webapp.library.models import Project
from workers import apart

pytestmark = pytest.mark.django_db


@pytest.fixture
def job() -> Job:
    project = Project.objects.create(slug="one", name="One")
    return Job.objects.create(project=project, kind="evaluate", queue="train")


def test_it_gets_no_secret_and_its_own_gpu_alone(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for name in apart.SECRETS:
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("HF_HOME", "/models")
    assert "CUDA_VISIBLE_DEVICES" not in apart.environment(job)
    DeviceLease.objects.create(device="host.STUDIO/cuda:3", job=job)
    given = apart.environment(job)
    assert given["CUDA_VISIBLE_DEVICES"] == "3" and given["HF_HOME"] == "/models" and "secret" not in given.values()
    assert "CUDA_VISIBLE_DEVICES" not in apart.environment(job, alone=False)


def test_a_place_on_the_processor_is_no_gpu(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    DeviceLease.objects.create(device="host/cpu for train", job=job)
    assert "CUDA_VISIBLE_DEVICES" not in apart.environment(job)
