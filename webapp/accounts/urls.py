from __future__ import annotations

from django.urls import path

from webapp.accounts import views

urlpatterns = [
    path("login/", views.log_in, name="login"),
    path("logout/", views.log_out, name="logout"),
    path("link/<str:token>/", views.login_link, name="login_link"),
    path("me/", views.profile, name="profile"),
    path("me/name/", views.profile_name, name="profile_name"),
    path("me/password/", views.profile_password, name="profile_password"),
    path("me/keys/", views.profile_keys, name="profile_keys"),
    path("users/", views.users, name="users"),
    path("users/<int:user_id>/", views.user_change, name="user_change"),
    path("p/<slug:slug>/members/", views.members, name="members"),
    path("p/<slug:slug>/members/<uuid:member_id>/", views.member_change, name="member_change"),
]
