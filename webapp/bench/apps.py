from __future__ import annotations

from django.apps import AppConfig


class BenchConfig(AppConfig):
    name = "webapp.bench"
    label = "bench"

    def ready(self) -> None:
        from webapp.bench.clips import follow_clip
        from webapp.jobs.services import follow

        follow("clip", follow_clip)
