from __future__ import annotations

from django.apps import AppConfig


class TracksConfig(AppConfig):
    name = "webapp.tracks"
    label = "tracks"
