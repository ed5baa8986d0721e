"""The pages around the workspace in a real browser: login, project, upload, list, jobs, keys, theme."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.browser.conftest import PASSWORD, Studio, Visitor, cookie_of
from webapp.accounts.models import Membership, User
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.library.models import Project, Upload, Video

PIECE = 256 * 1024
CONTENT = os.urandom(5 * PIECE + 1000)


@pytest.fixture(autouse=True)
def small_pieces(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.UPLOAD_PIECE_BYTES = PIECE
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)


@pytest.fixture
def cora(crew: SimpleNamespace) -> User:
    user = User.objects.create(username="cora", display_name="Cora Castellanos")
    Membership.objects.create(project=crew.project, user=user, role="curator")
    return user


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    path = tmp_path / "dinner.mp4"
    path.write_bytes(CONTENT)
    return path


def stored(upload: Upload) -> bytes:
    from webapp.library.services import upload_path

    return upload_path(upload).read_bytes()


def until(true: Callable[[], bool], limit_s: float = 20) -> None:
    end = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def sideways(page: Any) -> bool:
    return bool(
        page.evaluate("[...document.querySelectorAll('html, .content')].some(e => e.scrollWidth > e.clientWidth)")
    )


# ---------------------------------------------------------------------------------------------------------------------


def test_from_login_to_the_video_in_the_list(
    chromium: Any, studio: Studio, crew: SimpleNamespace, cora: User, clip: Path
) -> None:
    cora.set_password(PASSWORD)
    cora.save()
    page = chromium.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda m: complaints.append(m.text) if "Content Security Policy" in m.text else None)
    page.goto(f"{studio.address}/p/one/")
    assert page.url.endswith("/login/?next=/p/one/")
    page.get_by_label("User name").fill("cora")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="No videos yet").wait_for()
    page.get_by_role("link", name="Add videos").first.click()
    manifest = {"name": "m.csv", "mimeType": "text/csv", "buffer": b'path,licence\n"in/dinner.mp4","CC BY, 4.0"\n'}
    page.locator("#files").set_input_files(manifest)
    page.get_by_text("Manifest of 1 file").wait_for()
    page.locator("#files").set_input_files(clip)
    page.get_by_text("dinner.mp4 has arrived.").wait_for(timeout=20_000)
    upload = Upload.objects.get()
    assert stored(upload) == CONTENT
    video = Video.objects.get()
    assert (video.name, video.licence) == ("dinner.mp4", "CC BY, 4.0")

    job = jobs.claim(job_id=Job.objects.get(video=video).id, worker="test/1")
    assert job is not None
    jobs.beat(job=job, stage="proxy", share=0.5)
    page.get_by_text("Importing: proxy · 50 %").wait_for(timeout=10_000)
    page.get_by_role("link", name="All videos").click()
    row = page.locator(f"[data-video='{video.id}']")
    row.get_by_text("Import: proxy").wait_for()
    jobs.beat(job=job, stage="waveform", share=0.9)
    row.get_by_text("Import: waveform").wait_for(timeout=10_000)
    Video.objects.filter(id=video.id).update(state="ready", duration_s=65)
    jobs.finish(job=job, result={})
    row.get_by_text("1:05").wait_for(timeout=10_000)
    assert not complaints
    page.close()


def test_a_reloaded_page_goes_on_with_the_same_file(
    visit: Callable[..., Visitor], cora: User, clip: Path, studio: Studio
) -> None:
    visitor = visit(cora)
    page = visitor.page
    sent: list[str] = []

    def third_is_lost(route: Any) -> None:
        if route.request.method != "PUT":
            route.continue_()
            return
        sent.append(route.request.url)
        if len(sent) > 2:
            route.abort()
        else:
            route.continue_()

    page.route("**/api/v1/uploads/**", third_is_lost)
    page.goto(f"{studio.address}/p/one/upload/")
    page.locator("#files").set_input_files(clip)
    page.get_by_text("The connection is lost. Trying again").wait_for()
    page.unroute("**/api/v1/uploads/**")
    page.on("dialog", lambda dialog: dialog.accept())  # "leave this page?", since an upload is running
    page.reload()
    page.get_by_text("Choose the file again to go on.").wait_for()
    upload = Upload.objects.get()
    assert upload.received == 2 * PIECE
    puts: list[str] = []
    page.on("request", lambda r: puts.append(r.url) if r.method == "PUT" else None)
    page.locator("#files").set_input_files(clip)
    page.get_by_text("dinner.mp4 has arrived.").wait_for(timeout=20_000)
    assert puts[0].endswith(f"offset={2 * PIECE}")
    assert stored(Upload.objects.get()) == CONTENT


def test_a_lost_answer_and_a_small_proxy_do_no_harm(
    visit: Callable[..., Visitor], cora: User, clip: Path, studio: Studio
) -> None:
    """A proxy refuses bodies above 100 kB with 413, and the answer to one piece that arrived never comes back."""
    visitor = visit(cora)
    page = visitor.page
    count = {"pieces": 0}

    def proxy(route: Any) -> None:
        if route.request.method != "PUT":
            route.continue_()
        elif len(route.request.post_data_buffer or b"") > 100_000:
            route.fulfill(status=413, body="<html>413 Request Entity Too Large</html>")
        else:
            count["pieces"] += 1
            if count["pieces"] == 2:
                route.fetch()
                route.abort()
            else:
                route.continue_()

    page.route("**/api/v1/uploads/**", proxy)
    page.goto(f"{studio.address}/p/one/upload/")
    page.locator("#files").set_input_files(clip)
    page.get_by_text("dinner.mp4 has arrived.").wait_for(timeout=30_000)
    assert stored(Upload.objects.get()) == CONTENT
    assert Video.objects.count() == 1


def test_a_file_that_cannot_be_one_says_why(
    visit: Callable[..., Visitor], cora: User, tmp_path: Path, studio: Studio
) -> None:
    page = visit(cora).page
    page.goto(f"{studio.address}/p/one/upload/")
    empty = tmp_path / "empty.mp4"
    empty.write_bytes(b"")
    page.locator("#files").set_input_files(empty)
    page.get_by_text("The file is empty: it has 0 bytes.").wait_for()
    bad = {"name": "m.csv", "mimeType": "text/csv", "buffer": b"path,licence\na.mp4,x,y\n"}
    page.locator("#files").set_input_files(bad)
    page.get_by_text("m.csv: Line 2: 3 cells where the head has 2.").wait_for()
    page.get_by_role("button", name="Remove m.csv").click()
    page.get_by_text("m.csv:").wait_for(state="detached")
    page.get_by_role("button", name="Remove empty.mp4").click()
    page.locator(".upload").wait_for(state="detached")


def test_a_manifest_that_cannot_be_used_holds_its_videos_back(
    visit: Callable[..., Visitor], cora: User, studio: Studio
) -> None:
    page = visit(cora).page
    page.goto(f"{studio.address}/p/one/upload/")

    def choose(*files: tuple[str, bytes]) -> None:
        found = [{"name": name, "mimeType": "application/octet-stream", "buffer": data} for name, data in files]
        page.locator("#files").set_input_files(found)

    choose(("dinner.mp4", b"a" * 1000), ("m.csv", b"file,licence\ndinner.mp4,CC BY\n"))
    page.get_by_text('m.csv: Line 1: there is no column "file"; known are path, name,').wait_for()
    page.get_by_text("Held back: m.csv cannot be used.").wait_for()
    choose(("cards.mp4", b"b" * 1000))
    page.locator(".upload[data-state=held]").nth(1).wait_for()
    assert not Upload.objects.exists()
    choose(("m.csv", b"path,name,licence\nin/dinner.mp4,Dinner for six,CC BY\ncards.mp4,,\n"))
    page.get_by_text("Manifest of 2 files").wait_for()
    until(lambda: Video.objects.count() == 2)
    assert sorted(Video.objects.values_list("name", "licence")) == [("Dinner for six", "CC BY"), ("cards.mp4", "")]


def test_cancelling_removes_it_here_and_there(
    visit: Callable[..., Visitor], cora: User, clip: Path, studio: Studio
) -> None:
    page = visit(cora).page
    page.route("**/api/v1/uploads/**", lambda r: r.abort() if r.request.method == "PUT" else r.continue_())
    page.goto(f"{studio.address}/p/one/upload/")
    page.locator("#files").set_input_files(clip)
    page.get_by_text("The connection is lost").wait_for()
    page.get_by_role("button", name="Cancel dinner.mp4").click()
    page.locator(".upload").wait_for(state="detached")  # waiting in the browser: the route above needs its turn, too
    page.wait_for_timeout(500)
    until(lambda: not Upload.objects.exists())


# ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def shelf(crew: SimpleNamespace) -> Iterator[list[Video]]:
    yield [
        Video.objects.create(
            project=crew.project, name=f"clip {letter}.mp4", state="ready", duration_s=10, proposed_count=n
        )
        for n, letter in enumerate("abcdef")
    ]


def test_the_list_works_by_keys(visit: Callable[..., Visitor], cora: User, shelf: list[Video], studio: Studio) -> None:
    page = visit(cora).page
    page.goto(f"{studio.address}/p/one/?sort=name")
    name = "document.activeElement.querySelector('.row-link')?.textContent"
    for key, expected in (("j", "clip a.mp4"), ("j", "clip b.mp4"), ("j", "clip c.mp4"), ("k", "clip b.mp4")):
        page.keyboard.press(key)
        assert page.evaluate(name) == expected
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_text("2 selected").wait_for()
    page.keyboard.press("Escape")
    assert not page.locator("[data-selection]").is_visible()
    page.keyboard.press("/")
    page.keyboard.type("clip jf")  # letters in a field are letters
    page.get_by_role("heading", name="No video fits").wait_for()
    assert page.url.endswith("?q=clip%20jf&sort=name")
    page.keyboard.press("Control+a")
    page.keyboard.type("clip f")
    page.get_by_text("1 video fits").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/v/{shelf[5].id}/**")


def test_perception_starts_on_a_selection(
    visit: Callable[..., Visitor], cora: User, shelf: list[Video], studio: Studio
) -> None:
    page = visit(cora).page
    page.goto(f"{studio.address}/p/one/?sort=name")
    page.get_by_label("Select clip b.mp4").check()
    page.get_by_label("Select clip d.mp4").check()
    page.get_by_role("button", name="Run perception").click()
    page.get_by_text("Perception is queued for 2 videos.").wait_for()
    assert {job.video.name for job in Job.objects.all()} == {"clip b.mp4", "clip d.mp4"}  # type: ignore[union-attr]
    assert page.get_by_text("Perception: waiting").count() == 2
    assert "sort=name" in page.url


def test_a_job_can_be_read_cancelled_and_tried_again(
    visit: Callable[..., Visitor], cora: User, shelf: list[Video], studio: Studio, crew: SimpleNamespace
) -> None:
    job = jobs.create(project=crew.project, kind="perceive", queue="gpu", video=shelf[0], user=cora)
    claimed = jobs.claim(job_id=job.id, worker="test/1")
    assert claimed is not None
    jobs.log(job=claimed, line="shots: 5 found")
    page = visit(cora).page
    page.goto(f"{studio.address}/p/one/jobs/")
    page.get_by_role("button", name="Perception").click()
    page.get_by_text("shots: 5 found").wait_for()
    jobs.beat(job=claimed, stage="faces", share=0.25, lines="faces: 12 of 40")
    page.get_by_text("25 %").wait_for(timeout=10_000)
    page.get_by_text("faces: 12 of 40").wait_for(timeout=10_000)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("stopping").wait_for()
    jobs.cancelled(job=claimed)
    page.get_by_role("button", name="Retry").click()
    page.get_by_text("waiting", exact=True).wait_for()


def test_progress_arrives_without_server_sent_events(
    visit: Callable[..., Visitor], cora: User, shelf: list[Video], studio: Studio, crew: SimpleNamespace
) -> None:
    job = jobs.create(project=crew.project, kind="perceive", queue="gpu", video=shelf[0], user=cora)
    claimed = jobs.claim(job_id=job.id, worker="test/1")
    assert claimed is not None
    page = visit(cora).page
    page.route("**/jobs/stream", lambda route: route.fulfill(status=502, body="no"))
    page.goto(f"{studio.address}/p/one/jobs/")
    jobs.beat(job=claimed, stage="gaze", share=0.5)
    page.get_by_text("gaze", exact=True).wait_for(timeout=15_000)


def test_the_theme_is_kept(visit: Callable[..., Visitor], cora: User, studio: Studio) -> None:
    page = visit(cora).page
    page.goto(f"{studio.address}/me/")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    with page.expect_response("**/me/preferences"):
        page.get_by_role("button", name="Dark").last.click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)" != dark
    page.goto(f"{studio.address}/")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_deleting_asks_for_the_name(
    visit: Callable[..., Visitor], crew: SimpleNamespace, shelf: list[Video], studio: Studio
) -> None:
    page = visit(crew.alice).page
    page.goto(f"{studio.address}/v/{shelf[0].id}/details/")
    page.get_by_role("button", name="Delete…").click()
    gone = page.get_by_role("button", name="Delete for good")
    page.get_by_label("Type the name to confirm").fill("clip")
    assert gone.is_disabled()
    page.get_by_label("Type the name to confirm").fill("clip a.mp4")
    gone.click()
    page.get_by_text("clip a.mp4 is deleted.").wait_for()
    assert not Video.objects.filter(id=shelf[0].id).exists()


def test_a_failed_import_goes_from_the_list(
    visit: Callable[..., Visitor], crew: SimpleNamespace, shelf: list[Video], cora: User, studio: Studio
) -> None:
    failed = Video.objects.create(project=crew.project, name='not "a" video.mp4', state="failed", error="It is text.")
    page = visit(cora).page
    page.goto(f"{studio.address}/p/one/?state=failed")
    page.get_by_text("It is text.").wait_for()
    assert page.get_by_role("button", name="Remove").count() == 0  # a curator may not delete
    page = visit(crew.alice).page
    page.goto(f"{studio.address}/p/one/?state=failed")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Remove not").click()
    page.get_by_text('not "a" video.mp4 is deleted.').wait_for()
    page.get_by_role("heading", name="No video fits").wait_for()
    assert not Video.objects.filter(id=failed.id).exists() and Video.objects.count() == len(shelf)


def test_a_role_changes_in_place(visit: Callable[..., Visitor], crew: SimpleNamespace, studio: Studio) -> None:
    page = visit(crew.alice).page
    page.goto(f"{studio.address}/p/one/members/")
    page.get_by_label("Role of vera").select_option("curator")
    page.get_by_text("vera is curator now.").wait_for()
    page.get_by_label("Role of alice").select_option("viewer")
    page.get_by_text("This is the project's last admin").wait_for()
    assert Membership.objects.get(user=crew.alice).role == "admin"
    assert page.get_by_label("Role of alice").input_value() == "admin"


PAGES = (
    "/",
    "/p/one/",
    "/p/one/upload/",
    "/p/one/jobs/",
    "/p/one/members/",
    "/p/one/settings/",
    "/p/one/triage/",
    "/me/",
)


@pytest.mark.parametrize("width", [1024, 1440])
def test_no_page_scrolls_sideways_and_every_control_has_a_name(
    visit: Callable[..., Visitor], crew: SimpleNamespace, shelf: list[Video], studio: Studio, width: int
) -> None:
    long = "a very long name of a recording session with many words in it " * 3
    Video.objects.create(project=crew.project, name=long, state="failed", error=long)
    Job.objects.create(project=crew.project, video=shelf[0], kind="import", queue="cpu", state="failed", error=long)
    page = visit(crew.alice).page
    page.set_viewport_size({"width": width, "height": 768})
    for address in (*PAGES, f"/v/{shelf[0].id}/details/"):
        page.goto(studio.address + address)
        assert not sideways(page), address
        assert page.evaluate(ONE_SCROLLBAR), address
        nameless = page.evaluate(NAMELESS)
        assert nameless == [], address
        assert page.evaluate(TOO_SMALL) == [], address


# What lies far down in the content, also what is only read aloud, makes the content scroll and never the window too
ONE_SCROLLBAR = """() => {
  const low = document.createElement("p");
  low.className = "sr-only";
  low.style.marginTop = "5000px";
  document.querySelector(".content").append(low);
  const one = document.documentElement.scrollHeight <= innerHeight;
  low.remove();
  return one;
}"""

NAMELESS = """() => [...document.querySelectorAll("a, button, input:not([type=hidden]), select, textarea, summary")]
  .filter(e => e.offsetParent !== null)
  .filter(e => !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length || e.title))
  .map(e => e.outerHTML.slice(0, 120))"""

# WCAG 2.2, 2.5.8: at least 24 px each way, except links inside text and controls with a label around them
TOO_SMALL = """() => [...document.querySelectorAll("button, summary, select, .rail a, .table th a, a.button, input")]
  .filter(e => e.offsetParent !== null && !e.closest("label") && !e.matches(".sr-only, [type=hidden]"))
  .filter(e => { const box = e.getBoundingClientRect(); return Math.min(box.width, box.height) < 23.5; })
  .map(e => e.outerHTML.slice(0, 120))"""


def test_a_session_that_ended_is_said_so(visit: Callable[..., Visitor], cora: User, studio: Studio) -> None:
    visitor = visit(cora)
    page = visitor.page
    page.goto(f"{studio.address}/p/one/upload/")
    visitor.context.clear_cookies()
    page.locator("#files").set_input_files({"name": "a.mp4", "mimeType": "video/mp4", "buffer": b"abc"})
    page.locator(".upload[data-state=failed]").wait_for()
    visitor.context.add_cookies([cookie_of(cora, studio)])
    assert page.get_by_role("button", name="Try again").is_visible()


# ---------------------------------------------------------------------------------------------------------------------
# Double clicks, and tabs that are older than the session


@pytest.fixture
def root(crew: SimpleNamespace) -> User:
    user = User.objects.create(username="root", is_superuser=True)
    user.set_password(PASSWORD)
    user.save()
    return user


def test_a_double_click_makes_one_project_one_member_one_job(
    visit: Callable[..., Visitor], root: User, shelf: list[Video], studio: Studio
) -> None:
    page = visit(root).page
    page.goto(f"{studio.address}/p/new/")
    page.get_by_label("Name", exact=True).fill("Two")
    page.get_by_label("Short name").fill("two")
    page.get_by_role("button", name="Create the project").dblclick()
    page.get_by_text("The project Two is there.").wait_for()
    assert Project.objects.filter(slug="two").count() == 1
    page.goto(f"{studio.address}/p/two/members/")
    page.get_by_label("User name").fill("vera")
    page.get_by_role("button", name="Add to the project").dblclick()
    page.get_by_text("vera is a member now, as annotator.").wait_for()
    page.wait_for_timeout(500)
    assert page.get_by_text("already a member").count() == 0
    assert Membership.objects.filter(project__slug="two").count() == 1
    page.goto(f"{studio.address}/v/{shelf[0].id}/details/")
    page.get_by_role("button", name="Run perception").dblclick()
    page.get_by_text("Perception is queued.").wait_for()
    assert Job.objects.filter(video=shelf[0]).count() == 1


def test_a_form_sent_again_is_guarded_for_its_own_ten_seconds(
    visit: Callable[..., Visitor], root: User, studio: Studio
) -> None:
    """Answered after 1 s, sent again at 2 s: at 11 s the second guard still stands, at 13 s it does not."""
    page = visit(root).page
    page.clock.install()
    page.goto(f"{studio.address}/p/one/settings/")
    page.evaluate(
        """() => {
          const form = document.createElement('form');
          form.method = 'post';
          form.id = 'probe';
          form.setAttribute('hx-post', '/nowhere/');
          document.body.append(form);
          const ask = (name) => form.dispatchEvent(
            new CustomEvent(name, { bubbles: true, cancelable: true, detail: { elt: form } }));
          globalThis.send = () => ask('htmx:beforeRequest');
          globalThis.answer = () => ask('htmx:afterRequest');
        }"""
    )
    assert page.evaluate("send()") and not page.evaluate("send()")
    page.clock.run_for(1000)
    page.evaluate("answer()")
    page.clock.run_for(1000)
    assert page.evaluate("send()")
    page.clock.run_for(9000)
    assert not page.evaluate("send()")
    page.clock.run_for(2000)
    assert page.evaluate("send()")


def test_a_double_click_on_a_login_link_logs_in(chromium: Any, studio: Studio, root: User) -> None:
    from webapp.accounts import services

    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{studio.address}/link/{services.make_link(user=root)}/")
    page.get_by_role("button", name="Log in as root").dblclick()
    page.get_by_role("heading", name="Projects").wait_for()
    context.close()


def test_a_form_sent_after_the_session_ended_leads_back_to_its_page(
    visit: Callable[..., Visitor], root: User, shelf: list[Video], studio: Studio
) -> None:
    from django.contrib.sessions.models import Session

    page = visit(root).page
    page.goto(f"{studio.address}/v/{shelf[0].id}/details/")
    Session.objects.all().delete()
    page.get_by_role("button", name="Run perception").click()
    page.get_by_label("User name").fill("root")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_text("Nothing was changed: this step has to be sent from its page. Do it again here.").wait_for()
    assert page.url.endswith(f"/v/{shelf[0].id}/details/") and not Job.objects.exists()


def test_a_part_of_a_page_asked_for_without_a_session_says_so(
    visit: Callable[..., Visitor], crew: SimpleNamespace, studio: Studio
) -> None:
    from django.contrib.sessions.models import Session

    page = visit(crew.alice).page
    page.goto(f"{studio.address}/p/one/members/")
    Session.objects.all().delete()
    page.get_by_label("Role of vera").select_option("curator")
    page.get_by_text("You are no longer logged in.").wait_for()
    assert page.get_by_label("Role of vera").is_visible()
    assert Membership.objects.get(user=crew.vera).role == "viewer"


def test_a_form_older_than_another_persons_login_leads_to_its_page(
    visit: Callable[..., Visitor], crew: SimpleNamespace, root: User, shelf: list[Video], studio: Studio
) -> None:
    visitor = visit(root)
    page = visitor.page
    page.goto(f"{studio.address}/v/{shelf[0].id}/details/")
    other = visitor.new_page()
    other.goto(f"{studio.address}/me/")
    other.locator("summary").click()
    other.get_by_role("button", name="Log out").click()
    User.objects.filter(id=crew.alice.id).update(password=User.objects.get(id=root.id).password)
    other.get_by_label("User name").fill("alice")
    other.get_by_label("Password").fill(PASSWORD)
    other.keyboard.press("Enter")
    other.get_by_role("heading", name="Projects").wait_for()
    page.get_by_role("button", name="Run perception").click()
    page.get_by_text("This page is older than your login.").wait_for()
    page.get_by_role("link", name="Load the page again").click()
    page.get_by_role("button", name="Run perception").wait_for()
    assert not Job.objects.exists()


def test_what_was_deleted_meanwhile_is_said_in_one_sentence(
    visit: Callable[..., Visitor], crew: SimpleNamespace, shelf: list[Video], studio: Studio
) -> None:
    page = visit(crew.alice).page
    page.goto(f"{studio.address}/v/{shelf[0].id}/details/")
    shelf[0].delete()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("There is no such page, or it is not yours to see.").wait_for()
    page.goto(f"{studio.address}/p/one/members/")
    Project.objects.filter(slug="one").delete()
    page.get_by_label("Role of vera").select_option("curator")
    page.get_by_text("There is no such page, or it is not yours to see.").wait_for()
