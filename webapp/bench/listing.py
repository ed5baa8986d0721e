"""The list of questions: what its address asks for, one page of rows, and the words each row shows.

Pages follow each other by key, as in the video list (`webapp.library.queries`): the address carries the sort value and
the number of the row a page starts after or ends before. Counts stop at a limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import BooleanField, Case, ExpressionWrapper, OuterRef, Q, QuerySet, Subquery, When

from ml.questions.taxonomy import CATEGORIES
from webapp.accounts.models import User
from webapp.bench.models import DOUBTED, Answer, Question
from webapp.lib import lists
from webapp.library.models import Project, Video

PAGE_SIZE = 50
COUNT_LIMIT = 2_000
FEW_VIDEOS = 200  # whose questions are looked up rather than met on the way
DIFFICULTIES = ("easy", "medium", "hard")
STATE_WORDS = {
    "draft": "Draft",
    "answering": "Answering",
    "disputed": "Disputed",
    "accepted": "Accepted",
    "reserve": "Reserve",
    "rejected": "Rejected",
    "retired": "Retired",
}
ORIGIN_WORDS = {"template": "Template", "model": "Model", "human": "Person", "imported": "Imported"}
KIND_WORDS = {
    "single": "One right option",
    "multiple": "Several right options",
    "yes_no": "Yes or no",
    "number": "A number",
    "open": "Open answer",
}
# sort name -> (column before the number or "", falling); each is an index of Question read forwards or backwards
SORTS: dict[str, tuple[str, bool]] = {
    "newest": ("", True),
    "oldest": ("", False),
    "category": ("category", False),
    "-category": ("category", True),
    "state": ("state", False),
    "-state": ("state", True),
}
SORT_WORDS = {
    "newest": "Newest first",
    "oldest": "Oldest first",
    "category": "Category, A to Z",
    "-category": "Category, Z to A",
    "state": "State, A to Z",
    "-state": "State, Z to A",
}
LIST_FIELDS = (
    "project_id", "video_id", "number", "category", "difficulty", "kind", "shown", "origin", "state", "round", "stale",
    "stale_why", "start", "end", "signed_by_id", "video__name",
)  # fmt: skip
SHAKY = ExpressionWrapper(Q(stale=True) | DOUBTED, BooleanField())  # `Question.is_stale`, without reading proofs
BLIND_STATES = {"disputed": "answering"}  # what a state looks like to whoever may still be asked


@dataclass(frozen=True)
class Wanted:
    """What the address of the list asks for; unknown values count as not given."""

    text: str = ""
    state: str = ""
    category: str = ""
    difficulty: str = ""
    origin: str = ""
    source: str = ""
    stale: str = ""
    sort: str = "newest"
    after: str = ""
    before: str = ""

    @classmethod
    def read(cls, query: Mapping[str, str], *, blind: bool) -> Wanted:
        """`blind`: no state or order may tell a disputed question from one that is being answered."""
        states = [state for state in STATE_WORDS if not (blind and state in BLIND_STATES)]
        sorts = [sort for sort, (column, _) in SORTS.items() if not (blind and column == "state")]

        def pick(name: str, known: Any, default: str = "") -> str:
            value = query.get(name, default)
            return value if value in known else default

        def words(name: str) -> str:
            return query.get(name, "").replace("\x00", "").strip()[:100]

        return cls(
            text=words("q"),
            state=pick("state", states),
            category=pick("category", CATEGORIES),
            difficulty=pick("difficulty", DIFFICULTIES),
            origin=pick("origin", ORIGIN_WORDS),
            source=words("source"),
            stale=pick("stale", ("1",)),
            sort=pick("sort", sorts, "newest"),
            after=query.get("after", "")[:60],
            before=query.get("before", "")[:60],
        )

    @property
    def filtered(self) -> bool:
        return bool(
            self.text or self.state or self.category or self.difficulty or self.origin or self.source or self.stale
        )

    def address(self, **changes: str) -> str:
        """The query string with some values changed; a change of anything goes back to the first page."""
        values = {
            "q": self.text,
            "state": self.state,
            "category": self.category,
            "difficulty": self.difficulty,
            "origin": self.origin,
            "source": self.source,
            "stale": self.stale,
            "sort": self.sort,
        }
        return lists.address(values | changes)

    @property
    def here(self) -> str:
        """The query string of this very page of the list."""
        return self.address(after=self.after, before=self.before)


@dataclass
class Page:
    """Some questions in order, with the cursors of the pages beside them ("" where there is none)."""

    questions: Sequence[Question]
    wanted: Wanted
    count: int
    earlier: str = ""
    later: str = ""

    @property
    def more_than_counted(self) -> bool:
        return self.count > COUNT_LIMIT


def filtered(project: Project, wanted: Wanted, *, blind: bool) -> QuerySet[Question]:
    """The project's questions that fit the filters, but for the source (see `_of_source`), in no order."""
    found = Question.objects.filter(project=project)
    same = {"category": wanted.category, "difficulty": wanted.difficulty, "origin": wanted.origin}
    found = found.filter(**{name: value for name, value in same.items() if value})
    if wanted.state:
        alike = [state for state, looks in BLIND_STATES.items() if blind and looks == wanted.state]
        found = found.filter(state__in=[wanted.state, *alike])
    if wanted.text:
        words = Q(shown__icontains=wanted.text)
        number = wanted.text.lstrip("#")
        plain = number.isascii() and number.isdigit() and len(number) < 10
        found = found.filter(words | Q(number=int(number)) if plain else words)
    if wanted.stale:
        # with the videos' ids at hand, indexes find both kinds; joined, neither
        videos = list(Video.objects.filter(project=project, doubted__gt=0).values_list("id", flat=True))
        fallen = Q(stale=True)
        found = found.filter(fallen | Q(DOUBTED, video__in=videos) if videos else fallen)
    return found


def _of_source(
    found: QuerySet[Question], project: Project, source: str, *, few: bool
) -> tuple[QuerySet[Question], Any]:
    """Questions whose video is named so, or is of a recording named so: as they are counted, and as a page of them is
    read. One query looks for the videos.

    Of few videos the questions are looked up. Of many, they are counted video by video up to the limit; but for a page
    the questions are gone through in the list's order, and the video of each is looked at until the page is full:
    nobody sorts what is thrown away. `few`: there are few of them in any case, and they are counted like that as well.
    """
    named = Q(source_recording__icontains=source) | Q(name__icontains=source)
    here = Video.objects.filter(named, project=project)
    videos = list(here.values_list("id", flat=True)[: FEW_VIDEOS + 1])
    if len(videos) <= FEW_VIDEOS:
        of_few = found.filter(video__in=videos)
        return of_few, of_few
    fits = Case(When(named, then=True), default=False, output_field=BooleanField())
    looked_at = Subquery(Video.objects.filter(id=OuterRef("video_id")).values_list(fits)[:1])
    gone_through = found.annotate(of_source=looked_at).filter(of_source=True)
    return (gone_through if few else found.filter(video__in=here.values("id"))), gone_through


def question_page(project: Project, wanted: Wanted, *, blind: bool, size: int = PAGE_SIZE) -> Page:
    """One page of the list: two queries, and one more each where stale ones or a source are asked for.

    `blind`: for somebody who may not see whether a question is disputed.
    """
    counted = found = filtered(project, wanted, blind=blind)
    if wanted.source:
        counted, found = _of_source(found, project, wanted.source, few=bool(wanted.stale))
    count = counted[: COUNT_LIMIT + 1].count()
    column, falls = SORTS[wanted.sort]
    at = _read_cursor(wanted.before or wanted.after, column)
    back = bool(wanted.before) and at is not None
    falls = falls != back  # the rows before a row are the first ones after it in the opposite order
    if at is not None:
        found = found.filter(_beyond(column, at, falls))
    sign = "-" if falls else ""
    order = [sign + column] * bool(column) + [f"{sign}number"]
    rows = list(found.select_related("video").annotate(shaky=SHAKY).order_by(*order).only(*LIST_FIELDS)[: size + 1])
    more, rows = len(rows) > size, rows[:size]
    if back:
        rows.reverse()
    page = Page(rows, wanted, count)
    if rows:
        page.earlier = _cursor(rows[0], column) if (more if back else at is not None) else ""
        page.later = _cursor(rows[-1], column) if (at is not None if back else more) else ""
    return page


def _cursor(question: Question, column: str) -> str:
    value = f"{getattr(question, column)}." if column else ""
    return f"{value}{question.number}"


def _read_cursor(text: str, column: str) -> tuple[str, int] | None:
    """(sort value, number) of a cursor; None for one that was not made by this order, which means the first page."""
    value, _, number = text.rpartition(".")
    known: Any = {"": ("",), "category": CATEGORIES, "state": STATE_WORDS}[column]
    if value not in known or not (number.isascii() and number.isdigit()) or len(number) > 9:
        return None
    return value, int(number)


def _beyond(column: str, at: tuple[str, int], falls: bool) -> Q:
    side = "lt" if falls else "gt"
    value, number = at
    beyond = Q(**{f"number__{side}": number})
    if not column:
        return beyond
    return Q(**{f"{column}__{side}e": value}) & (Q(**{f"{column}__{side}": value}) | beyond)


def rows_of(page: Page, user: User, *, blind: bool) -> list[dict[str, Any]]:
    """The rows of a page as the template places them; one query. Nothing in them tells a key."""
    mine = set(
        Answer.objects.filter(user=user, question__in=[one.id for one in page.questions]).values_list(
            "question_id", flat=True
        )
    )
    return [_row(question, question.id in mine, blind=blind) for question in page.questions]


def _row(question: Question, mine: bool, *, blind: bool) -> dict[str, Any]:
    state = BLIND_STATES.get(question.state, question.state) if blind else question.state
    stale = question.shaky  # type: ignore[attr-defined]
    return {
        "id": str(question.id),
        "number": question.number,
        "text": question.shown or question.text,
        "address": f"/v/{question.video_id}/?question={question.id}",
        "video": question.video.name,
        "span": f"{question.start}–{question.end - 1}",
        "stale": stale and not blind,
        "stale_why": question.stale_why if stale and not blind else "",
        "category": CATEGORIES[question.category].words,
        "difficulty": question.difficulty,
        "kind": "" if question.kind == "single" else KIND_WORDS[question.kind].lower(),
        "state": state,
        "state_words": STATE_WORDS[state],
        "round": 1 if blind else question.round,
        "mine": mine,
        "draft": question.state == Question.State.DRAFT,
        "origin": ORIGIN_WORDS[question.origin],
        "free": "signed" if question.signed_by_id else "",
    }
