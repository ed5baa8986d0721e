"""Saving over HTTP: how long it takes, and that nothing accepted is ever lost."""

from __future__ import annotations

import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.bench.conftest import Browser, Server
from tests.figures import Record
from tests.webapp.factories import make_person, make_proposal, make_video
from webapp.accounts.models import Membership, User
from webapp.bench.models import Question
from webapp.events.models import Edit, Event
from webapp.jobs.models import Job
from webapp.library.models import Project, Video

pytestmark = [pytest.mark.bench, pytest.mark.django_db(transaction=True)]
SECONDS = 60


def crew(count: int) -> tuple[Project, list[User]]:
    project = Project.objects.create(slug="one", name="One")
    users = [User.objects.create(username=f"rater-{n}") for n in range(count)]
    Membership.objects.bulk_create(Membership(project=project, user=user, role="annotator") for user in users)
    return project, users


def events(video: Video, count: int) -> list[Event]:
    roles = [(make_person(video), "member") for _ in range(2)]
    return [make_proposal(video, "mutual_gaze", 0, 100, roles) for _ in range(count)]


def save(browser: Browser, video: Video, event: Event, version: int) -> int:
    return browser.edit(video, "event.update", event.id, version, end=100 - version % 50)[0]


def test_one_save(server: Server, figure: Record) -> None:
    project, (user,) = crew(1)
    video = make_video(project)
    (event,) = events(video, 1)
    browser = Browser(server, user)
    status = []
    for version in range(1, 31):  # warm up
        status.append(save(browser, video, event, version))
    times = []
    for version in range(31, 331):
        start = time.perf_counter()
        status.append(save(browser, video, event, version))
        times.append((time.perf_counter() - start) * 1000)
    assert set(status) == {200} and Event.objects.get(id=event.id).version == 331
    cuts = statistics.quantiles(times, n=20)
    figure("save an edit over HTTP, p50", statistics.median(times), "ms", budget=16, note="300 saves")
    figure("save an edit over HTTP, p95", cuts[18], "ms", budget=50)
    assert statistics.median(times) < 3 * 16 and cuts[18] < 3 * 50


def test_one_save_that_puts_thirty_proofs_in_doubt(valkey: Any, server: Server, figure: Record) -> None:
    """Every such save finds all of them proven, as if the worker were done with them between two saves. Turn by turn
    with saves of a video without questions, so that both meet the same machine.
    """
    project, (user,) = crew(1)
    videos = [
        make_video(project, name=name, has_questions=asked) for name, asked in (("plain", False), ("asked", True))
    ]
    own = [events(video, 1)[0] for video in videos]
    browser = Browser(server, user)
    for video, event in zip(videos, own, strict=True):
        assert browser.edit(video, "event.update", event.id, 1, status="confirmed")[0] == 200
    Question.objects.bulk_create(
        Question(project=project, video=videos[1], number=n, category="mutual_gaze", difficulty="medium",
                 text=f"Who? {n}", shown=f"Who? {n}", proof={"v": 1}, start=0, end=9) for n in range(30)
    )  # fmt: skip
    times: list[list[float]] = [[], []]
    for version in range(2, 182):
        for video, event, took in zip(videos, own, times, strict=True):
            Video.objects.update(doubted=0)
            Job.objects.all().delete()
            start = time.perf_counter()
            assert save(browser, video, event, version) == 200
            took.append((time.perf_counter() - start) * 1000)
    assert Question.objects.in_doubt().count() == 30 and Job.objects.count() == 1
    plain, doubting = (statistics.median(each[30:]) for each in times)
    figure("save an edit that puts 30 proofs in doubt, p50", doubting, "ms", budget=16)
    figure("the same, p95", statistics.quantiles(times[1][30:], n=20)[18], "ms", budget=50)
    figure("the same, over a save that puts none in doubt, p50", doubting / plain, "x")


def test_twenty_clients_on_one_record(server: Server, figure: Record) -> None:
    project, users = crew(20)
    video = make_video(project)
    shared, *own = events(video, 21)
    end = time.monotonic() + SECONDS
    lost, collided, broken = [], [], []

    def client(number: int) -> int:
        browser, accepted, version, mine = Browser(server, users[number]), 0, 1, 1
        while time.monotonic() < end:
            status, answer = browser.edit(video, "event.update", shared.id, version, note=f"{number} {accepted}")
            if status == 200:
                accepted, version = accepted + 1, answer["changes"][0]["after"]["version"]
            elif status == 409:
                version = answer["conflict"]["theirs"]["version"]
            else:
                broken.append(status)
            status, answer = browser.edit(video, "event.update", own[number].id, mine, note=f"{mine}")
            mine += status == 200
            collided.extend([status] if status != 200 else [])
        if Event.objects.get(id=own[number].id).version != mine:
            lost.append(number)
        return accepted

    with ThreadPoolExecutor(20) as pool:
        accepted = sum(pool.map(client, range(20)))
    final = Event.objects.get(id=shared.id).version
    in_ledger = Edit.objects.filter(video=video, changes__contains=[{"id": str(shared.id)}]).count()
    figure("20 clients on one record, 60 s: accepted edits lost", accepted - (final - 1) + len(lost), "", budget=0,
           note=f"{accepted} accepted on the shared event, {Edit.objects.count()} in all")  # fmt: skip
    figure("20 clients: edits of different objects that collided", len(collided), "", budget=0)
    assert (final - 1, in_ledger, lost, collided, broken) == (accepted, accepted, [], [], [])


def test_fifty_reviewers_saving_every_five_seconds(server: Server, figure: Record) -> None:
    project, users = crew(50)
    video = make_video(project)
    own = events(video, 50)
    times: list[float] = []
    bad: list[int] = []
    barrier = threading.Barrier(50)

    def reviewer(number: int) -> int:
        browser, version = Browser(server, users[number]), 1
        barrier.wait()
        begin = time.monotonic() + number * 0.1
        for save in range(6):
            time.sleep(max(0.0, begin + 5 * save - time.monotonic()))
            start = time.perf_counter()
            status, _ = browser.edit(video, "event.update", own[number].id, version, end=99 - version)
            times.append((time.perf_counter() - start) * 1000)
            version += status == 200
            bad.extend([status] if status != 200 else [])
        return version

    with ThreadPoolExecutor(50) as pool:
        versions = list(pool.map(reviewer, range(50)))
    stored = [Event.objects.get(id=event.id).version for event in own]
    lost = sum(a != b for a, b in zip(versions, stored, strict=True))
    figure("50 reviewers saving every 5 s: lost updates", lost, "", budget=0)
    figure("50 reviewers: answers that were not 200", len(bad), "", budget=0)
    figure("50 reviewers: save, p95", statistics.quantiles(times, n=20)[18], "ms", budget=50)
    assert versions == stored and not bad
