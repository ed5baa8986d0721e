from __future__ import annotations

from django.urls import path

from webapp.jobs import views

urlpatterns = [path("p/<slug:slug>/jobs/", views.jobs, name="jobs")]
