from __future__ import annotations

from django.urls import path

from webapp.tracks import views

urlpatterns = [path("v/<uuid:video_id>/", views.workspace, name="workspace")]
