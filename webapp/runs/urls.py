from __future__ import annotations

from django.urls import path

from webapp.runs import urls_evaluation, views, views_new, views_rollouts, views_snapshot

urlpatterns = [
    *urls_evaluation.urlpatterns,
    path("p/<slug:slug>/runs/", views.runs, name="runs"),
    path("p/<slug:slug>/runs/new/", views_new.new, name="run_new"),
    path("p/<slug:slug>/runs/compare/", views.compare, name="run_compare"),
    path("p/<slug:slug>/runs/<int:number>/", views.run, name="run"),
    path("p/<slug:slug>/runs/<int:number>/edit/", views_new.edit, name="run_edit"),
    path("p/<slug:slug>/runs/<int:number>/metrics.csv", views.metrics_csv, name="run_csv"),
    path("p/<slug:slug>/runs/<int:number>/folder.tar", views.download, name="run_download"),
    path("p/<slug:slug>/runs/<int:number>/rollouts/", views_rollouts.rollouts, name="run_rollouts"),
    path("p/<slug:slug>/runs/<int:number>/rollouts/<int:rollout_id>/", views_rollouts.rollout, name="run_rollout"),
    path("p/<slug:slug>/snapshots/", views_snapshot.snapshots, name="snapshots"),
    path("p/<slug:slug>/snapshots/<int:number>/", views_snapshot.snapshot, name="snapshot"),
]
