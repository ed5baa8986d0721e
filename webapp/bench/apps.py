from __future__ import annotations

from django.apps import AppConfig


class BenchConfig(AppConfig):
    name = "webapp.bench"
    label = "bench"
