from __future__ import annotations

from django.urls import path

from webapp.events import views

urlpatterns = [path("p/<slug:slug>/triage/", views.triage, name="triage")]
