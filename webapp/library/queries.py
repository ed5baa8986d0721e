"""What the lists read. The number of queries is fixed, and no query grows with the page one is on.

Pages follow each other by key, not by offset: the address carries the sort value and id of the row they start after
or end before, so page 2,000 costs what page 1 does. Counts stop at a limit too: a filter is not an
index, so counting everything that fits would read everything.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.utils.dateparse import parse_datetime

from webapp.accounts.access import Somebody, projects_of
from webapp.jobs.models import Job
from webapp.lib import lists
from webapp.library.models import Project, Upload, Video

PAGE_SIZE = 50
COUNT_LIMIT = 10_000
FILTERED_COUNT_LIMIT = 2_000
LIVE_JOBS = (Job.State.QUEUED, Job.State.RUNNING)

# sort name -> (column, values fall, ids of equal values fall): each is an index of Video read forwards or backwards
SORTS: dict[str, tuple[str, bool, bool]] = {
    "newest": ("created", True, False),
    "oldest": ("created", False, True),
    "name": ("name", False, False),
    "-name": ("name", True, True),
    "longest": ("duration_s", True, True),
    "shortest": ("duration_s", False, False),
    "proposed": ("proposed_count", True, False),
    "-proposed": ("proposed_count", False, True),
}
SORT_WORDS = {
    "newest": "Newest first",
    "oldest": "Oldest first",
    "name": "Name, A to Z",
    "-name": "Name, Z to A",
    "longest": "Longest first",
    "shortest": "Shortest first",
    "proposed": "Most to review first",
    "-proposed": "Fewest to review first",
}
STATES = {state.value for state in Video.State}
LEFT = {"open": Q(proposed_count__gt=0), "done": Q(proposed_count=0, reviewed_count__gt=0), "new": Q(run__isnull=True)}


@dataclass(frozen=True)
class Wanted:
    """What the address of a video list asks for; unknown values count as not given."""

    text: str = ""
    state: str = ""
    left: str = ""
    sort: str = "newest"
    after: str = ""
    before: str = ""

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Wanted:
        def pick(name: str, known: Any, default: str = "") -> str:
            value = query.get(name, default)
            return value if value in known else default

        return cls(
            text=query.get("q", "").replace("\x00", "").strip()[:100],
            state=pick("state", STATES),
            left=pick("left", LEFT),
            sort=pick("sort", SORTS, "newest"),
            after=query.get("after", "")[:400],
            before=query.get("before", "")[:400],
        )

    @property
    def filtered(self) -> bool:
        return bool(self.text or self.state or self.left)

    @property
    def count_limit(self) -> int:
        return FILTERED_COUNT_LIMIT if self.filtered else COUNT_LIMIT

    def address(self, **changes: str) -> str:
        """The query string of this list with some values changed; a change of anything goes back to the first page."""
        values = {"q": self.text, "state": self.state, "left": self.left, "sort": self.sort}
        return lists.address(values | changes)

    @property
    def here(self) -> str:
        """The query string of this very page of the list."""
        return self.address(after=self.after, before=self.before)


@dataclass
class Page:
    """Some videos in order, with the cursors of the pages beside them ("" where there is none)."""

    videos: list[Video]
    wanted: Wanted
    count: int
    earlier: str = ""
    later: str = ""
    jobs: dict[UUID, Job] = field(default_factory=dict)

    @property
    def more_than_counted(self) -> bool:
        return self.count > self.wanted.count_limit


def project_list(user: Somebody) -> QuerySet[Any]:
    """The person's projects with counts of videos, of videos with something left, and of live jobs."""
    videos = Video.objects.filter(project=OuterRef("pk")).order_by().values("project")
    jobs = Job.objects.filter(project=OuterRef("pk"), state__in=LIVE_JOBS).order_by().values("project")
    found: QuerySet[Project] = projects_of(user)
    return found.annotate(
        video_total=Subquery(videos.annotate(n=Count("*")).values("n")),
        open_total=Subquery(videos.filter(proposed_count__gt=0).annotate(n=Count("*")).values("n")),
        job_total=Subquery(jobs.annotate(n=Count("*")).values("n")),
    )


def filtered_videos(project: Project, wanted: Wanted) -> QuerySet[Video]:
    """The project's videos that fit the filters, in no order."""
    found = Video.objects.filter(project=project)
    if wanted.text:
        found = found.filter(name__icontains=wanted.text)
    if wanted.state:
        found = found.filter(state=wanted.state)
    if wanted.left:
        found = found.filter(LEFT[wanted.left])
    return found


def video_page(project: Project, wanted: Wanted, size: int = PAGE_SIZE) -> Page:
    """One page of the list: three queries."""
    found = filtered_videos(project, wanted)
    count = found[: wanted.count_limit + 1].count()
    column, value_falls, id_falls = SORTS[wanted.sort]
    at = read_cursor(wanted.before or wanted.after, column)
    back = bool(wanted.before) and at is not None
    if back:  # the rows before a row are the first ones after it in the opposite order
        value_falls, id_falls = not value_falls, not id_falls
    if at is not None:
        found = found.filter(_beyond(column, at, value_falls, id_falls))
    order = [("-" if value_falls else "") + column, ("-" if id_falls else "") + "id"]
    rows = list(found.order_by(*order).only(*LIST_FIELDS)[: size + 1])
    more, rows = len(rows) > size, rows[:size]
    if back:
        rows.reverse()
    page = Page(rows, wanted, count)
    if rows:
        first, last = cursor(rows[0], column), cursor(rows[-1], column)
        page.earlier = first if (more if back else at is not None) else ""
        page.later = last if (at is not None if back else more) else ""
    page.jobs = live_jobs(rows)
    return page


LIST_FIELDS = (
    "project_id", "blob_id", "name", "state", "error", "duration_s", "frames", "width", "height", "has_pixels",
    "person_count", "proposed_count", "reviewed_count", "run_id", "created",
)  # fmt: skip


def _beyond(column: str, at: tuple[Any, UUID], value_falls: bool, id_falls: bool) -> Q:
    """Rows that come after the row (value, id); the first condition alone bounds the index scan."""
    value, id = at
    side = "lt" if value_falls else "gt"
    beyond = Q(**{f"{column}__{side}": value}) | Q(**{f"id__{'lt' if id_falls else 'gt'}": id})
    return Q(**{f"{column}__{side}e": value}) & beyond


def cursor(video: Video, column: str) -> str:
    value = getattr(video, column)
    text = json.dumps([value.isoformat() if isinstance(value, datetime) else value, str(video.id)])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(text: str, column: str) -> tuple[Any, UUID] | None:
    """(sort value, id) of a cursor; None for one that was not made by this order, which means the first page."""
    try:
        value, id = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if column == "created":
            value = parse_datetime(value)
        kinds: dict[str, Any] = {"created": datetime, "name": str, "duration_s": int | float, "proposed_count": int}
        if not isinstance(value, kinds[column]) or isinstance(value, bool) or "\x00" in str(value):
            return None
        if column == "proposed_count" and value not in range(2**31):
            return None
        return value, UUID(id)
    except (ValueError, TypeError, AttributeError, binascii.Error):
        return None


def live_jobs(videos: list[Video]) -> dict[UUID, Job]:
    """The newest waiting or running job of each video that has one."""
    jobs = Job.objects.filter(video__in=[v.id for v in videos], state__in=LIVE_JOBS).order_by("created")
    return {job.video_id: job for job in jobs.defer("log", "result", "parameters") if job.video_id}


def open_uploads(project: Project, user: Any) -> QuerySet[Upload]:
    """The person's uploads that have not become a video yet."""
    return Upload.objects.filter(project=project, user=user, video__isnull=True).order_by("-created")[:50]
