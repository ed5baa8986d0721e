"""Users, members, the profile and its preferences."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from webapp.accounts import services
from webapp.accounts.models import Membership, User
from webapp.lib.errors import Refused

# ---------------------------------------------------------------------------------------------------------------------
# Users


def test_a_site_admin_makes_a_user_with_a_link(people: SimpleNamespace, as_user: Any) -> None:
    made = as_user(people.root).post("/users/", {"username": "nina", "display_name": "Nina Noor"})
    assert made.status_code == 200
    link = re.search(r"http://testserver(/link/[\w-]+/)", made.content.decode())
    assert link is not None
    nina = User.objects.get(username="nina")
    assert not nina.has_usable_password()
    assert not nina.is_superuser
    guest = Client()
    assert guest.post(link[1]).status_code == 302
    assert b"Nina Noor" in guest.get("/me/").content


@pytest.mark.parametrize("name", ["vera", "VERA", "with space", "<b>", "", "x" * 151])
def test_it_refuses_names_that_are_taken_or_none(people: SimpleNamespace, as_user: Any, name: str) -> None:
    before = User.objects.count()
    assert as_user(people.root).post("/users/", {"username": name}).status_code == 422
    assert User.objects.count() == before


def test_it_deactivates_and_brings_back(people: SimpleNamespace, as_user: Any) -> None:
    client, address = as_user(people.root), f"/users/{people.vera.id}/"
    client.post(address, {"action": "deactivate"})
    assert not User.objects.get(username="vera").is_active
    client.post(address, {"action": "activate"})
    assert User.objects.get(username="vera").is_active


def test_the_last_site_admin_stays(people: SimpleNamespace, as_user: Any) -> None:
    client, address = as_user(people.root), f"/users/{people.root.id}/"
    for action in ("deactivate", "no-admin"):
        assert client.post(address, {"action": action}).status_code == 422
    root = User.objects.get(username="root")
    assert root.is_active and root.is_superuser
    client.post(f"/users/{people.alice.id}/", {"action": "admin"})
    assert client.post(address, {"action": "no-admin"}).status_code == 302
    assert not User.objects.get(username="root").is_superuser


def test_it_knows_no_other_action(people: SimpleNamespace, as_user: Any) -> None:
    assert as_user(people.root).post(f"/users/{people.vera.id}/", {"action": "is_staff"}).status_code == 422


def test_the_user_list_has_a_fixed_number_of_queries(
    people: SimpleNamespace, as_user: Any, django_assert_num_queries: Any
) -> None:
    client = as_user(people.root)
    client.get("/users/")
    with django_assert_num_queries(3):
        client.get("/users/")
    User.objects.bulk_create(User(username=f"more{n}") for n in range(150))
    with django_assert_num_queries(3):
        assert b"more149" in client.get("/users/").content


# ---------------------------------------------------------------------------------------------------------------------
# Members


def test_an_admin_adds_changes_and_removes_a_member(people: SimpleNamespace, as_user: Any) -> None:
    client = as_user(people.alice)
    client.post("/p/one/members/", {"username": "Charlie", "role": "viewer"})
    membership = Membership.objects.get(project=people.one, user=people.charlie)
    assert membership.role == "viewer"
    address = f"/p/one/members/{membership.id}/"
    client.post(address, {"role": "curator"})
    membership.refresh_from_db()
    assert membership.role == "curator"
    client.post(address, {"action": "remove"})
    assert not Membership.objects.filter(id=membership.id).exists()


@pytest.mark.parametrize(
    ("name", "role"), [("nobody", "viewer"), ("vera", "viewer"), ("charlie", "owner"), ("", "viewer")]
)
def test_it_refuses_to_add(people: SimpleNamespace, as_user: Any, name: str, role: str) -> None:
    before = Membership.objects.count()
    assert as_user(people.alice).post("/p/one/members/", {"username": name, "role": role}).status_code == 422
    assert Membership.objects.count() == before


def test_the_last_admin_stays(people: SimpleNamespace, as_user: Any) -> None:
    mine = Membership.objects.get(project=people.one, user=people.alice)
    client, address = as_user(people.alice), f"/p/one/members/{mine.id}/"
    refused = client.post(address, {"action": "remove"})
    assert refused.status_code == 422
    assert b"last admin" in refused.content
    assert client.post(address, {"role": "viewer"}).status_code == 422
    mine.refresh_from_db()
    assert mine.role == "admin"
    services.add_member(project=people.one, username="charlie", role="admin")
    assert client.post(address, {"role": "viewer"}).status_code == 302


def test_a_deactivated_admin_does_not_count(people: SimpleNamespace) -> None:
    other = services.add_member(project=people.one, username="charlie", role="admin")
    services.set_active(user=other.user, active=False)
    with pytest.raises(Refused, match="last admin"):
        services.remove_member(membership=Membership.objects.get(project=people.one, user=people.alice))


def test_it_reaches_members_of_its_own_project_only(people: SimpleNamespace, as_user: Any) -> None:
    foreign = Membership.objects.get(project=people.two, user=people.charlie)
    answer = as_user(people.alice).post(f"/p/one/members/{foreign.id}/", {"role": "viewer"})
    assert answer.status_code == 404
    foreign.refresh_from_db()
    assert foreign.role == "admin"


def test_names_are_shown_as_text(people: SimpleNamespace, as_user: Any) -> None:
    people.vera.display_name = "<script>alert('v')</script>"
    people.vera.save()
    page = as_user(people.alice).get("/p/one/members/").content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(&#x27;v&#x27;)&lt;/script&gt;" in page


def test_htmx_gets_the_changed_part(people: SimpleNamespace, as_user: Any) -> None:
    mine = Membership.objects.get(project=people.one, user=people.vera)
    part = as_user(people.alice).post(
        f"/p/one/members/{mine.id}/", {"role": "reviewer"}, headers={"HX-Request": "true"}
    )
    assert part.status_code == 200
    assert b"<html" not in part.content
    assert b"vera is reviewer now" in part.content


# ---------------------------------------------------------------------------------------------------------------------
# Profile and preferences


def test_one_sets_a_password_and_keeps_the_session(people: SimpleNamespace, as_user: Any, password: str) -> None:
    client, other = as_user(people.vera), as_user(people.vera)
    fresh = "quite another horse"
    wrong = client.post("/me/password/", {"old": "no", "new": fresh, "again": fresh})
    assert wrong.status_code == 422
    differ = client.post("/me/password/", {"old": password, "new": fresh, "again": "something else"})
    assert differ.status_code == 422
    short = client.post("/me/password/", {"old": password, "new": "short", "again": "short"})
    assert short.status_code == 422
    assert User.objects.get(username="vera").check_password(password)
    assert client.post("/me/password/", {"old": password, "new": fresh, "again": fresh}).status_code == 302
    assert User.objects.get(username="vera").check_password(fresh)
    assert client.get("/me/").status_code == 200
    assert other.get("/me/").status_code == 302  # sessions elsewhere have ended


def test_preferences_touch_ones_own_row_only(people: SimpleNamespace, as_user: Any) -> None:
    client = as_user(people.vera)
    sent = {"theme": "dark", "keys": {"confirm": "Enter", "reject": "Backspace"}, "panels": {"inspector": 320}}
    answer = client.patch("/api/v1/me/preferences", sent, content_type="application/json")
    assert answer.json() == sent
    client.patch("/api/v1/me/preferences", {"theme": "light"}, content_type="application/json")
    people.vera.refresh_from_db()
    assert people.vera.preferences == {**sent, "theme": "light"}
    people.bob.refresh_from_db()
    assert people.bob.preferences == {}


BAD_PREFERENCES: list[dict[str, Any]] = [
    {"theme": "<script>"},
    {"is_superuser": True},
    {"keys": {"confirm": "a", "reject": "a"}},
    {"keys": {"<img src=x>": "a"}},
    {"keys": {"confirm": {"x": 1}}},
    {"keys": [1]},
    {"keys": {f"a{n}": str(n) for n in range(201)}},
    {"panels": {"inspector": "wide"}},
    {"panels": {"inspector": 1e9}},
    {"panels": {"inspector": -1}},
]


@pytest.mark.parametrize("bad", BAD_PREFERENCES, ids=lambda b: str(b)[:40])
def test_it_refuses_preferences_of_another_shape(people: SimpleNamespace, as_user: Any, bad: dict[str, Any]) -> None:
    answer = as_user(people.vera).patch("/api/v1/me/preferences", bad, content_type="application/json")
    assert answer.status_code == 422
    assert answer.json()["error"].endswith(".")
    people.vera.refresh_from_db()
    assert people.vera.preferences == {}


def test_the_theme_stands_in_the_page(people: SimpleNamespace, as_user: Any) -> None:
    services.set_preferences(user=people.vera, changes={"theme": "dark"})
    assert b'data-theme="dark"' in as_user(people.vera).get("/").content


# ---------------------------------------------------------------------------------------------------------------------
# Failure pages


def test_failures_say_what_happened(people: SimpleNamespace, as_user: Any) -> None:
    client = as_user(people.vera)
    assert b"or it is not yours to see" in client.get("/p/two/").content
    low = client.get("/p/one/settings/")
    assert low.status_code == 403
    assert b"This needs the role admin" in low.content
    api = client.get("/api/v1/nothing")
    assert api.status_code == 404
    assert api.json()["error"]


def test_an_error_of_ours_is_a_page(people: SimpleNamespace, as_user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(user: Any) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr("webapp.library.queries.project_list", broken)
    client = as_user(people.vera, raise_request_exception=False)
    page = client.get("/")
    assert page.status_code == 500
    assert b"nothing you saved is lost" in page.content
    assert b"RuntimeError" not in page.content
