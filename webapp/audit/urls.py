from __future__ import annotations

from django.urls import path

from webapp.audit import views, views_report, views_response

urlpatterns = [
    path("p/<slug:slug>/audits/", views.audits, name="audits"),
    path("p/<slug:slug>/audits/new/", views.new, name="audit_new"),
    path("p/<slug:slug>/audits/produce/", views.produce, name="audit_produce"),
    path("p/<slug:slug>/audits/<int:number>/", views.audit, name="audit"),
    path("p/<slug:slug>/audits/<int:number>/start/", views.start, name="audit_start"),
    path("p/<slug:slug>/audits/<int:number>/finish/", views.finish, name="audit_finish"),
    path("p/<slug:slug>/audits/<int:number>/settings/", views.settings, name="audit_settings"),
    path("p/<slug:slug>/audits/<int:number>/next/", views_response.next_one, name="audit_next"),
    path("p/<slug:slug>/audits/<int:number>/adjudicate/", views_response.adjudicate, name="audit_adjudicate"),
    path("p/<slug:slug>/audits/<int:number>/report/", views_report.report, name="audit_report"),
    path("p/<slug:slug>/audits/<int:number>/report/<str:kind>", views_report.download, name="audit_file"),
    path("audit/responses/<uuid:response_id>/", views_response.response, name="audit_response"),
    path("audit/responses/<uuid:response_id>/take/", views_response.take, name="audit_take"),
    path("audit/responses/<uuid:response_id>/give-back/", views_response.give_back, name="audit_give_back"),
]
