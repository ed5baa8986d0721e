"""Logging in by password and by one-time link, throttling, logging out."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from webapp.accounts import services
from webapp.accounts.models import LoginFailure, LoginLink, User


def test_it_logs_in_and_goes_where_one_wanted(people: SimpleNamespace, client: Client, password: str) -> None:
    response = client.post("/login/?next=/p/one/", {"username": "vera", "password": password, "next": "/p/one/"})
    assert response.status_code == 302
    assert response["Location"] == "/p/one/"
    assert client.get("/p/one/").status_code == 200


@pytest.mark.parametrize("wanted", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "\\\\evil"])
def test_it_never_leads_to_another_site(people: SimpleNamespace, client: Client, password: str, wanted: str) -> None:
    response = client.post("/login/", {"username": "vera", "password": password, "next": wanted})
    assert response["Location"] == "/"


def test_it_says_one_sentence_for_every_wrong_login(people: SimpleNamespace, client: Client, password: str) -> None:
    people.bob.is_active = False
    people.bob.save()
    wrong = client.post("/login/", {"username": "vera", "password": "wrong"})
    unknown = client.post("/login/", {"username": "nobody", "password": password})
    inactive = client.post("/login/", {"username": "bob", "password": password})
    assert [r.status_code for r in (wrong, unknown, inactive)] == [401, 401, 401]
    sentence = b"This name and password do not belong together"
    assert all(sentence in r.content for r in (wrong, unknown, inactive))


def test_ten_failures_close_the_door_for_a_quarter_of_an_hour(
    people: SimpleNamespace, client: Client, password: str
) -> None:
    for _ in range(10):
        assert client.post("/login/", {"username": "Vera", "password": "wrong"}).status_code == 401
    right = {"username": "vera", "password": password}
    closed = client.post("/login/", right)
    assert closed.status_code == 429
    assert b"Too many failed logins. Wait 15 minutes" in closed.content
    api = client.post("/api/v1/session/login", right, content_type="application/json")
    assert api.status_code == 429
    assert "Too many failed logins" in api.json()["error"]
    other_address = client.post("/login/", right, REMOTE_ADDR="10.0.0.9")
    assert other_address.status_code == 302
    client.logout()
    LoginFailure.objects.update(created=timezone.now() - timedelta(minutes=16))
    assert client.post("/login/", right).status_code == 302


def test_a_good_login_forgets_the_failures(people: SimpleNamespace, client: Client, password: str) -> None:
    for _ in range(9):
        client.post("/login/", {"username": "vera", "password": "wrong"})
    client.post("/login/", {"username": "vera", "password": password})
    assert not LoginFailure.objects.filter(username="vera").exists()


def test_the_session_key_changes_at_login(people: SimpleNamespace, client: Client, password: str) -> None:
    client.get("/login/")
    session = client.session
    session["kept"] = 1
    session.save()
    before = session.session_key
    client.post("/login/", {"username": "vera", "password": password})
    assert client.session.session_key != before


def test_logging_out_needs_a_post(people: SimpleNamespace, as_user: Any) -> None:
    client = as_user(people.vera)
    assert client.get("/logout/").status_code == 405
    assert client.get("/me/").status_code == 200
    client.post("/logout/")
    assert client.get("/me/").status_code == 302


def test_forms_of_other_sites_are_refused(people: SimpleNamespace, password: str) -> None:
    client = Client(enforce_csrf_checks=True)
    refused = client.post("/login/", {"username": "vera", "password": password})
    assert refused.status_code == 403
    assert b"older than your login" in refused.content
    api = client.post(
        "/api/v1/session/login", {"username": "vera", "password": password}, content_type="application/json"
    )
    assert api.status_code == 403
    assert "older than your login" in api.json()["error"]


# ---------------------------------------------------------------------------------------------------------------------
# One-time links


def test_opening_a_link_does_not_burn_it(people: SimpleNamespace, client: Client) -> None:
    token = services.make_link(user=people.vera)
    for _ in range(2):
        shown = client.get(f"/link/{token}/")
        assert shown.status_code == 200
        assert b"Log in as vera" in shown.content
    assert client.get("/me/").status_code == 302
    assert client.post(f"/link/{token}/").status_code == 302
    assert client.get("/me/").status_code == 200


def test_a_link_works_once(people: SimpleNamespace) -> None:
    token = services.make_link(user=people.vera)
    assert Client().post(f"/link/{token}/").status_code == 302
    again = Client()
    assert again.post(f"/link/{token}/").status_code == 410
    assert again.get(f"/link/{token}/").status_code == 410
    assert again.get("/me/").status_code == 302


def test_a_link_expires(people: SimpleNamespace, client: Client) -> None:
    token = services.make_link(user=people.vera)
    LoginLink.objects.update(expires=timezone.now() - timedelta(seconds=1))
    assert client.post(f"/link/{token}/").status_code == 410


def test_a_new_link_ends_the_old_one(people: SimpleNamespace, client: Client) -> None:
    old = services.make_link(user=people.vera)
    services.make_link(user=people.vera)
    assert client.post(f"/link/{old}/").status_code == 410


def test_a_link_of_a_deactivated_person_is_dead(people: SimpleNamespace, client: Client) -> None:
    token = services.make_link(user=people.vera)
    services.set_active(user=people.vera, active=False)
    assert client.post(f"/link/{token}/").status_code == 410


def test_only_a_hash_of_the_link_is_stored(people: SimpleNamespace) -> None:
    token = services.make_link(user=people.vera)
    assert token not in str(LoginLink.objects.values())


def test_somebody_without_a_password_comes_home_and_is_told_where_to_set_one(db: None, client: Client) -> None:
    _, token = services.create_user(username="new")
    home = client.post(f"/link/{token}/", follow=True)
    assert home.request["PATH_INFO"] == "/"
    assert b'<a href="/me/#password-title">Set a password</a>' in home.content
    assert b'id="password-title">Set a password' in client.get("/me/").content


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ("/p/one/?q=a", "/p/one/?q=a"),
        ("https://elsewhere.example/", "/"),
        ("//elsewhere.example/", "/"),
        ("javascript:alert(1)", "/"),
    ],
)
def test_a_link_leads_to_a_page_of_ours_only(people: SimpleNamespace, client: Client, wanted: str, place: str) -> None:
    address = f"/link/{services.make_link(user=people.vera)}/?{urlencode({'next': wanted})}"
    assert client.get(address).status_code == 200
    assert client.post(address)["Location"] == place


# ---------------------------------------------------------------------------------------------------------------------
# The session by API


def test_it_logs_in_again_in_place(people: SimpleNamespace, password: str) -> None:
    client = Client(enforce_csrf_checks=True)
    nobody = client.get("/api/v1/session").json()
    assert nobody["user"] is None
    headers = {"X-CSRFToken": nobody["csrf"]}
    answer = client.post(
        "/api/v1/session/login",
        {"username": "bob", "password": password},
        content_type="application/json",
        headers=headers,
    )
    assert answer.json()["user"] == {"id": people.bob.id, "name": "bob"}
    fresh = {"X-CSRFToken": answer.json()["csrf"]}
    change = client.patch("/api/v1/me/preferences", {"theme": "light"}, content_type="application/json", headers=fresh)
    assert change.status_code == 200
    stale = client.patch("/api/v1/me/preferences", {"theme": "dark"}, content_type="application/json")
    assert stale.status_code == 403
    assert User.objects.get(username="bob").preferences == {"theme": "light"}


def test_no_page_may_be_framed_or_run_inline_script(client: Client, db: None) -> None:
    response = client.get("/login/")
    policy = response["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert b"<style" not in response.content
    assert b" style=" not in response.content
    assert b"<script>" not in response.content


def test_cookies_are_closed_to_scripts_and_other_sites(people: SimpleNamespace, client: Client, password: str) -> None:
    client.post("/login/", {"username": "vera", "password": password})
    cookie = client.cookies["sightline"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
