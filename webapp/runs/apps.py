from __future__ import annotations

from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "webapp.runs"
    label = "runs"

    def ready(self) -> None:
        from webapp.jobs.services import follow
        from webapp.library.services import before_erasing
        from webapp.runs import evaluating, recording, withdrawal

        before_erasing(withdrawal.scrub)
        follow("snapshot", recording.follow_snapshot)
        follow("preflight", recording.follow_preflight)
        follow("train", recording.follow_training)
        before_erasing(evaluating.scrub)
        follow("evaluate", evaluating.follow_job)
        follow("release", evaluating.follow_release)
