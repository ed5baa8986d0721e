from __future__ import annotations

from django.apps import AppConfig


class StudioConfig(AppConfig):
    """Management commands and the launcher; no models."""

    name = "webapp.studio"
    label = "studio"
