from __future__ import annotations

from django.urls import path, register_converter

from webapp.library import media, views


class VideoPiece:
    """Only the names that are served."""

    regex = r"proxy\.mp4|poster\.jpg|strip\.jpg|strip\.json|waveform\.bin"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class RunPiece(VideoPiece):
    regex = r"tracks\.bin|ribbon\.bin"


register_converter(VideoPiece, "video_piece")
register_converter(RunPiece, "run_piece")

urlpatterns = [
    path("", views.project_list, name="projects"),
    path("p/new/", views.project_new, name="project_new"),
    path("p/<slug:slug>/", views.project, name="project"),
    path("p/<slug:slug>/settings/", views.project_settings, name="project_settings"),
    path("p/<slug:slug>/upload/", views.upload, name="upload"),
    path("p/<slug:slug>/perceive/", views.videos_bulk, name="videos_bulk"),
    path("v/<uuid:video_id>/details/", views.video_details, name="video_details"),
    path("v/<uuid:video_id>/perceive/", views.video_perceive, name="video_perceive"),
    path("v/<uuid:video_id>/delete/", views.video_delete, name="video_delete"),
    path("v/<uuid:video_id>/original/", media.original, name="original"),
    path("v/<uuid:video_id>/media/<video_piece:piece>", media.video_piece, name="video_piece"),
    path("v/<uuid:video_id>/runs/<uuid:run_id>/accept/", views.run_accept, name="run_accept"),
    path("v/<uuid:video_id>/runs/<uuid:run_id>/<run_piece:piece>", media.run_piece, name="run_piece"),
]
