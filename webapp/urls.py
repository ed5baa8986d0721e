"""Addresses: pages by app, and /api/v1."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from webapp.api import api

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", api.urls),
    path("", include("webapp.accounts.urls")),
    path("", include("webapp.library.urls")),
    path("", include("webapp.events.urls")),
    path("", include("webapp.bench.urls")),
    path("", include("webapp.audit.urls")),
    path("", include("webapp.runs.urls")),
    path("", include("webapp.jobs.urls")),
    path("", include("webapp.tracks.urls")),
]

handler400 = "webapp.accounts.failures.bad_request"
handler403 = "webapp.accounts.failures.forbidden"
handler404 = "webapp.accounts.failures.not_found"
handler500 = "webapp.accounts.failures.broken"
