from __future__ import annotations

from django.urls import path

from webapp.runs import views_evaluation as views

ONE = "p/<slug:slug>/evaluations/<int:number>/"
urlpatterns = [
    path("p/<slug:slug>/leaderboard/", views.board, name="leaderboard"),
    path("p/<slug:slug>/leaderboard/table.csv", views.board_file, {"kind": "csv"}, name="leaderboard_csv"),
    path("p/<slug:slug>/leaderboard/table.json", views.board_file, {"kind": "json"}, name="leaderboard_json"),
    path("p/<slug:slug>/evaluations/new/", views.evaluate, name="evaluate"),
    path(ONE, views.evaluation, name="evaluation"),
    path(f"{ONE}stop/", views.stop, name="evaluation_stop"),
    path(f"{ONE}again/", views.again, name="evaluation_again"),
    path(f"{ONE}items/", views.items, name="evaluation_items"),
    path(f"{ONE}files/<slug:what>", views.evaluation_file, name="evaluation_file"),
    path(f"{ONE}items/<slug:lines>", views.evaluation_items_file, name="evaluation_items_file"),
]
