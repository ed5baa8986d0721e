from __future__ import annotations

from django.urls import path

from webapp.bench import views, views_judge, views_question, views_release

urlpatterns = [
    path("p/<slug:slug>/bench/", views.bench, name="bench"),
    path("p/<slug:slug>/bench/run/", views.run, name="bench_run"),
    path("p/<slug:slug>/bench/selected/", views.selected, name="bench_selected"),
    path("p/<slug:slug>/bench/settings/", views.settings, name="bench_settings"),
    path("p/<slug:slug>/bench/composition.csv", views.composition_csv, name="composition_csv"),
    path("p/<slug:slug>/bench/answer/", views.answer, name="bench_answer"),
    path("p/<slug:slug>/bench/adjudicate/", views_judge.adjudicate, name="adjudicate"),
    path("p/<slug:slug>/bench/questions/new/", views_question.new, name="question_new"),
    path("q/<uuid:question_id>/edit/", views_question.edit, name="question_edit"),
    path("clips/<uuid:clip_id>/clip.mp4", views_question.clip, name="clip"),
    path("p/<slug:slug>/bench/releases/", views_release.index, name="releases"),
    path("p/<slug:slug>/bench/releases/<int:number>/", views_release.release, name="release"),
    path("p/<slug:slug>/bench/releases/<int:number>/retire/", views_release.retire, name="release_retire"),
    path("p/<slug:slug>/bench/releases/<int:number>/files/<str:name>", views_release.download, name="release_file"),
]
