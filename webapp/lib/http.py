"""Requests of people who are logged in."""

from __future__ import annotations

from django.http import HttpRequest

from webapp.accounts.models import User


class UserRequest(HttpRequest):
    """A request behind a login: the API's router and `login_required` let nobody else through."""

    user: User
