"""The pages of the bench without a browser: the list and its address, forms and their sentences, verdicts, releases."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ml.questions.draft import Draft
from ml.questions.taxonomy import CATEGORIES
from tests.webapp.factories import make_person
from webapp.bench import answering, listing, services
from webapp.bench.models import Adjudication, Bench, KeySeen, Question, Release, ReleaseItem
from webapp.library.models import Video


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)


@pytest.fixture
def asked_about(people: SimpleNamespace, video: Video, monkeypatch: pytest.MonkeyPatch) -> Video:
    """The video with four people and frame times of 25 a second."""
    import numpy as np

    seconds = np.arange(video.frames + 1) / 25
    for place in ("webapp.bench.wording.frame_seconds", "webapp.bench.facts.frame_seconds"):
        monkeypatch.setattr(place, lambda *_: seconds)
    monkeypatch.setattr("webapp.bench.clips.frame_seconds", lambda *_: seconds)
    for _ in range(4):
        make_person(video)
    Bench.objects.create(project=people.one, rendering="clean")
    video.refresh_from_db()
    return video


def fill(video: Video, count: int, **more: Any) -> list[Question]:
    """Plain rows, for lists: categories and states by turns."""
    slugs, states = list(CATEGORIES), [state.value for state in Question.State]
    first = Bench.objects.get(project=video.project).next_number
    rows = [
        Question(
            **{
                "project_id": video.project_id, "video": video, "number": first + k, "category": slugs[k % 16],
                "difficulty": CATEGORIES[slugs[k % 16]].difficulty, "text": f"Who is it, {k}?",
                "shown": f"Who is it, {k}?", "state": states[k % len(states)], "start": k, "end": k + 5,
                "origin": ("template", "human")[k % 2],
            } | more
        )
        for k in range(count)
    ]  # fmt: skip
    Bench.objects.filter(project=video.project).update(next_number=first + count)
    return Question.objects.bulk_create(rows)


def make(video: Video, user: Any, *, text: str = "Who looks at {p:0}?", opened: bool = True) -> Question:
    """A signed question whose options are the four people and whose key is the second."""
    people = list(video.persons.order_by("number"))
    for place, person in enumerate(people):
        text = text.replace(f"{{p:{place}}}", f"{{p:{person.id}}}")
    options = [{"id": "abcd"[k], "text": f"{{p:{p.id}}}", "value": str(p.id)} for k, p in enumerate(people)]
    wanted: dict[str, Any] = {"proof": None, "reasoning": "", "template": "", "difficulty": "medium"}
    draft = Draft(
        category="mutual_gaze", kind="single", text=text, options=options, key=["b"], start=30, end=60, **wanted
    )
    (made,) = services.create_questions(video=video, drafts=[draft], user=user, origin=Question.Origin.HUMAN)
    services.sign_question(question_id=made.id, user=user, version=made.version)
    if opened:
        assert services.open_questions(project=video.project, user=user, ids=[made.id]).opened
    made.refresh_from_db()
    return made


def dispute(question: Question, *raters: Any) -> Question:
    """Two people answer, one of them wrong."""
    for user, chosen in zip(raters, ("b", "c"), strict=True):
        while True:
            lease = answering.next_item(project=question.project, user=user)
            assert lease is not None
            if lease.question_id == question.id:
                break
            answering.give_back(question_id=lease.question_id, user=user)
        answering.answer(question_id=question.id, user=user, id=uuid.uuid4(), chosen=[chosen], seconds=1.0)
    question.refresh_from_db()
    assert question.state == "disputed"
    return question


# ---------------------------------------------------------------------------------------------------------------------
# The list


def numbers(client: Any, query: str) -> list[int]:
    return [row["number"] for row in client.get(f"/p/one/bench/{query}").context["rows"]]


def test_an_empty_bench_offers_the_one_next_action(people: SimpleNamespace, asked_about: Video, as_user: Any) -> None:
    page = as_user(people.cora).get("/p/one/bench/").content.decode()
    assert "No questions yet" in page and "Review events first" in page and "Generate questions" not in page
    assert "Questions appear here once a curator" in as_user(people.bob).get("/p/one/bench/").content.decode()


def test_pages_forward_and_back_hold_every_question_once(people: SimpleNamespace, asked_about: Video) -> None:
    fill(asked_about, 47)
    for sort, (column, falls) in listing.SORTS.items():
        rows = list(Question.objects.order_by(*([column] if column else []), "number"))
        right = [q.number for q in (reversed(rows) if falls else rows)]
        forward, after = [], ""
        while True:
            page = listing.question_page(people.one, listing.Wanted(sort=sort, after=after), blind=False, size=10)
            forward += [q.number for q in page.questions]
            if not page.later:
                break
            after = page.later
        assert forward == right, sort
        back, before = [q.number for q in page.questions], page.earlier
        while before:
            page = listing.question_page(people.one, listing.Wanted(sort=sort, before=before), blind=False, size=10)
            back = [q.number for q in page.questions] + back
            before = page.earlier
        assert back == right, sort


@pytest.mark.parametrize("few", [0, 200], ids=["many videos", "few videos"])
def test_filters_stand_in_the_address(
    people: SimpleNamespace, asked_about: Video, as_user: Any, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "FEW_VIDEOS", few)
    rows = fill(asked_about, 32)
    Question.objects.filter(number=3).update(stale=True, stale_why="Person 2 is no longer leader.")
    Video.objects.filter(id=asked_about.id).update(source_recording="Studio B")
    client = as_user(people.cora)

    def right(**wanted: Any) -> list[int]:
        return sorted((q.number for q in rows if all(getattr(q, k) == v for k, v in wanted.items())), reverse=True)

    assert numbers(client, "?state=accepted") == right(state="accepted")
    assert numbers(client, "?category=gaze_target") == right(category="gaze_target")
    assert numbers(client, "?difficulty=hard&origin=human") == right(difficulty="hard", origin="human")
    assert numbers(client, "?stale=1") == [3]
    assert numbers(client, "?source=studio+b&state=draft") == right(state="draft")
    assert numbers(client, "?source=studio+c") == []
    assert numbers(client, "?q=it%2C+7") == [8]
    assert numbers(client, "?q=8") == [29, 19, 9, 8]  # "…, 28?" and so on, and the number
    page = client.get("/p/one/bench/?stale=1").content.decode()
    assert "Person 2 is no longer leader." in page
    assert "No question fits" in client.get("/p/one/bench/?q=nothing").content.decode()


BAD = ["state=x", "category='--", "sort=created_by", "after=%00", "before=x.1", "after=99999999999", "q=%00", "stale=2"]


@pytest.mark.parametrize("query", BAD)
def test_nonsense_in_the_address_is_taken_as_not_given(
    people: SimpleNamespace, asked_about: Video, as_user: Any, query: str
) -> None:
    fill(asked_about, 3)
    assert len(numbers(as_user(people.cora), f"?{query}")) == 3


def test_whoever_may_be_asked_sees_no_dispute(people: SimpleNamespace, asked_about: Video, as_user: Any) -> None:
    fill(asked_about, 8, state="disputed", round=2)
    fill(asked_about, 4, state="answering")
    blind = as_user(people.bob)
    page = blind.get("/p/one/bench/").content.decode()
    assert "isputed" not in page and "round 2" not in page
    assert len(numbers(blind, "?state=answering")) == 12
    assert numbers(blind, "?sort=state") == numbers(blind, "")  # the order would tell them apart
    assert len(numbers(as_user(people.rita), "?state=disputed")) == 8


def queries_of(client: Any, address: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as caught:
        assert client.get(address).status_code == 200
    return len(caught)


def test_the_number_of_queries_is_fixed(people: SimpleNamespace, asked_about: Video, as_user: Any) -> None:
    client, addresses = as_user(people.cora), ("/p/one/bench/", "/p/one/bench/releases/", "/p/one/bench/settings/")
    fill(asked_about, 2)
    few = [queries_of(client, address) for address in addresses]
    fill(asked_about, 120)
    for n in range(1, 6):
        Release.objects.create(project=people.one, number=n, sha256="ab" * 32, created_by=people.cora)
    assert [queries_of(client, address) for address in addresses] == few
    assert few[0] <= 25


# ---------------------------------------------------------------------------------------------------------------------
# Selected questions, settings


def test_selected_drafts_are_handed_out_or_say_why_not(
    people: SimpleNamespace, asked_about: Video, as_user: Any
) -> None:
    signed = make(asked_about, people.cora, opened=False)
    bare = fill(asked_about, 1, state="draft")[0]
    answer = as_user(people.cora).post(
        "/p/one/bench/selected/", {"question": [signed.id, bare.id], "what": "open"}, follow=True
    )
    page = answer.content.decode()
    assert "1 question is handed to the raters." in page and f"Question {bare.number}: It has no proof" in page
    signed.refresh_from_db()
    assert signed.state == "answering"
    as_user(people.cora).post("/p/one/bench/selected/", {"question": [bare.id], "what": "discard"})
    bare.refresh_from_db()
    assert bare.state == "rejected"


def test_settings_and_quotas(people: SimpleNamespace, asked_about: Video, as_user: Any) -> None:
    client = as_user(people.cora)
    sent: dict[str, Any] = {
        "raters": 3, "rendering": "tags", "pad_before_s": "0.5", "pad_after_s": "1",
        "category": ["gaze_target", ""], "source": ["", ""], "difficulty": ["", ""], "letter": ["a", ""],
        "most": ["12", ""],
    }  # fmt: skip
    assert client.post("/p/one/bench/settings/", sent).status_code == 302
    bench = Bench.objects.get(project=people.one)
    assert (bench.raters, bench.rendering, bench.pad_before_s) == (3, "tags", 0.5)
    assert bench.quotas == [{"category": "gaze_target", "source": "", "difficulty": "", "letter": "A", "most": 12}]
    answer = client.post("/p/one/bench/settings/", sent | {"most": ["many", ""]})
    assert answer.status_code == 422
    assert "Write how many questions at most, such as 20." in answer.content.decode()
    fill(asked_about, 40)
    page = client.get("/p/one/bench/").content.decode()
    assert "Quotas and settings" in page


def test_the_composition_as_csv(people: SimpleNamespace, asked_about: Video, as_user: Any) -> None:
    fill(asked_about, 32, state="accepted")
    lines = as_user(people.vera).get("/p/one/bench/composition.csv").content.decode().splitlines()
    assert lines[0] == "category,group,difficulty,accepted,open,draft" and len(lines) == 17
    assert lines[1] == "gaze_target,gaze,easy,2,0,0"


# ---------------------------------------------------------------------------------------------------------------------
# Writing a question


def sent(video: Video, **more: Any) -> dict[str, Any]:
    """What the form of a new question sends."""
    values = {
        "category": "mutual_gaze", "kind": "single", "text": "Who looks at {Person 1} at {frame 50}?", "start": 25,
        "end": 74, "option-0": "{Person 0}", "option-1": "{Person 2}", "option-2": "Nobody", "right": ["1"],
        "reasoning": "", "answer": "",
    }  # fmt: skip
    return values | more


def test_a_question_by_hand(people: SimpleNamespace, asked_about: Video, as_user: Any) -> None:
    client = as_user(people.cora)
    assert "clip.mp4" in client.get("/p/one/bench/questions/new/").content.decode()
    address = f"/p/one/bench/questions/new/?video={asked_about.id}"
    assert client.get(address).status_code == 200
    answer = client.post(address, sent(asked_about, sign="1"))
    made = Question.objects.get()
    assert answer.status_code == 302 and answer["Location"].endswith(f"?question={made.id}")
    ids = {person.number: person.id for person in asked_about.persons.all()}
    assert made.text == f"Who looks at {{p:{ids[1]}}} at {{t:50}}?"
    assert made.shown == "Who looks at Person 1 at 2.0 s?"
    assert [option["text"] for option in made.options] == [f"{{p:{ids[0]}}}", f"{{p:{ids[2]}}}", "Nobody"]
    assert (made.key, made.start, made.end, made.state) == ([made.options[1]["id"]], 25, 75, "draft")
    assert (made.origin, made.signed_by) == ("human", people.cora)
    form = client.get(f"/q/{made.id}/edit/").content.decode()
    assert "Who looks at {Person 1} at {frame 50}?" in form


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"text": "Who is {Person 9}?"}, "There is no Person 9 in this video."),
        ({"text": "Who is {somebody}?"}, "Only {Person 3} and {frame 187} may stand in braces, not “{somebody}”."),
        ({"text": "Who is {?"}, "may stand in braces, not “{”."),
        ({"text": "When, {frame 5000}?"}, "Frame 5000 is outside this video of 1000 frames."),
        ({"text": ""}, "This field is required."),
        ({"option-2": "{Person 7}"}, "There is no Person 7 in this video."),
        ({"option-1": "{Person 0}"}, "This option stands twice."),
        ({"option-1": "", "option-2": ""}, "Write at least two options."),
        ({"right": []}, "Mark the option that is right."),
        ({"right": ["0", "1"]}, "exactly one option"),
        ({"kind": "yes_no"}, "Write exactly two options."),
        ({"kind": "number", "answer": "many"}, "Write a number, such as 3 or 2.5."),
        ({"kind": "open", "answer": " "}, "Write the answer that counts as right."),
        ({"end": 10}, "The last frame lies before the first one."),
        ({"end": 1000}, "The last frame of this video is 999."),
        ({"category": "x"}, "Select a valid choice."),
    ],
)
def test_bad_input_gets_a_sentence_at_its_field(
    people: SimpleNamespace, asked_about: Video, as_user: Any, more: dict[str, Any], sentence: str
) -> None:
    import html

    answer = as_user(people.cora).post(f"/p/one/bench/questions/new/?video={asked_about.id}", sent(asked_about, **more))
    assert answer.status_code == 422
    assert sentence in html.unescape(answer.content.decode())
    assert not Question.objects.exists()


def test_an_edit_starts_a_new_round_and_a_stale_one_is_told(
    people: SimpleNamespace, asked_about: Video, as_user: Any
) -> None:
    made = make(asked_about, people.cora)
    client = as_user(people.alice)
    lines = {f"option-{k}": f"{{Person {k}}}" for k in range(4)} | {f"option-id-{k}": "abcd"[k] for k in range(4)}
    body = sent(asked_about, **lines, right=["1"], version=str(made.version), text="Who is it now?")
    assert client.post(f"/q/{made.id}/edit/", body).status_code == 302
    after = Question.objects.get()
    assert (after.shown, after.state, after.round, after.version) == ("Who is it now?", "draft", 2, made.version + 1)
    assert [one["id"] for one in after.options] == list("abcd") and after.key == ["b"]
    assert all(one["value"] for one in after.options)  # what an option stands for is kept
    assert KeySeen.objects.filter(question=made, user=people.alice).exists()
    answer = client.post(f"/q/{made.id}/edit/", body | {"text": "Who was it?"})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "Somebody else changed this question in the meantime." in page and "Who was it?" in page
    assert Question.objects.get().shown == "Who is it now?"


# ---------------------------------------------------------------------------------------------------------------------
# Deciding


def test_a_third_person_decides_and_nobody_else(people: SimpleNamespace, asked_about: Video, as_user: Any) -> None:
    made = dispute(make(asked_about, people.cora), people.bob, people.alice)
    assert "Nothing for you to decide" in as_user(people.alice).get("/p/one/bench/adjudicate/").content.decode()
    client = as_user(people.rita)
    page = client.get("/p/one/bench/adjudicate/").content.decode()
    assert "1 of 2 gave the key" in page and "cora gave their word for the key" in page
    assert KeySeen.objects.filter(question=made, user=people.rita).exists()
    body = {"id": str(uuid.uuid4()), "question": str(made.id), "verdict": "accept", "reason": ""}
    assert client.post("/p/one/bench/adjudicate/", body).status_code == 422
    body["reason"] = "Alice looked away."
    assert client.post("/p/one/bench/adjudicate/", body).status_code == 302
    made.refresh_from_db()
    assert made.state == "accepted" and Adjudication.objects.get().reason == "Alice looked away."
    again = client.post("/p/one/bench/adjudicate/", body, follow=True).content.decode()
    assert "decided already" in again and "Nothing is disputed" in again
    assert Adjudication.objects.count() == 1


def test_a_verdict_may_edit_the_question(people: SimpleNamespace, asked_about: Video, as_user: Any) -> None:
    made = dispute(make(asked_about, people.cora), people.bob, people.alice)
    client = as_user(people.rita)
    body = {"id": str(uuid.uuid4()), "question": str(made.id), "verdict": "edit", "reason": "Two are right."}
    form = client.post("/p/one/bench/adjudicate/", body).content.decode()
    assert "Save and ask again" in form and "Two are right." in form and made.state == "disputed"
    lines = {f"option-{k}": f"{{Person {k}}}" for k in range(4)} | {f"option-id-{k}": "abcd"[k] for k in range(4)}
    changed = sent(asked_about, **lines, right=["1"], text="Who is it really?", start=30, end=59)
    assert client.post("/p/one/bench/adjudicate/", changed | body).status_code == 302
    made.refresh_from_db()
    # its signature is void with the edit, so it waits for a curator's word
    assert (made.shown, made.state, made.round) == ("Who is it really?", "draft", 2)
    assert Adjudication.objects.get().verdict == "edit"


# ---------------------------------------------------------------------------------------------------------------------
# Releases


def test_releases_are_listed_and_items_retired(people: SimpleNamespace, asked_about: Video, as_user: Any) -> None:
    client = as_user(people.cora)
    assert "there is none yet" in client.get("/p/one/bench/releases/").content.decode()
    answer = client.post("/p/one/bench/releases/", {"notes": "x"})
    assert answer.status_code == 422 and "There is no accepted question to release yet." in answer.content.decode()
    question = make(asked_about, people.cora)
    facts = {"changes": {"since": None}, "counts": {"category": {"mutual_gaze": 2}}, "limits": ["No sound."]}
    release = Release.objects.create(project=people.one, number=1, sha256="ab" * 32, facts=facts, notes="First.")
    item = {"question": "Who?", "answer_text": "Nobody", "category": "mutual_gaze"}
    kept = ReleaseItem.objects.create(
        release=release, question=question, position=1, question_version=1, item=item, sha256="cd" * 32
    )
    gone = {"withdrawn": True}
    ReleaseItem.objects.create(release=release, position=2, question_version=1, item=gone, sha256="ef" * 32)
    page = client.get("/p/one/bench/releases/1/").content.decode()
    assert "No sound." in page and "withdrawn" in page and "Mutual gaze" in page and "First." in page
    assert "Nobody" in page  # an item may go round again: its key is for those who could take the release out
    assert "Nobody" not in as_user(people.bob).get("/p/one/bench/releases/1/").content.decode()
    assert client.get("/p/one/bench/releases/1/?after=" + "9" * 5000).status_code == 200
    body = {"item": kept.id, "reason": "The clip shows nothing."}
    page = client.post("/p/one/bench/releases/1/retire/", body, follow=True).content.decode()
    assert "Item 1 is retired in release 1." in page and "Retired" in page and "The clip shows nothing." in page
    question.refresh_from_db()
    assert question.state == "retired"
    page = client.post("/p/one/bench/releases/1/retire/", {"item": "x", "reason": "y"}, follow=True).content.decode()
    assert "This release has no such item." in page


def test_a_page_of_settings_left_open_takes_nothing_back(people: Any, as_user: Any) -> None:
    """Only what its user changed is stored; of quotas changed twice the later one is asked about."""
    address = "/p/one/bench/settings/"
    client = as_user(people.cora)

    def form() -> dict[str, Any]:
        """What a browser sends back when nothing is changed."""
        context = client.get(address).context
        fields = {"quotas_were": context["quotas_mark"]}
        for one in context["form"]:
            if one.name != "blur_faces":
                fields |= {one.html_name: one.value(), one.html_initial_name: one.value()}
        lines = context["quotas"]
        names = ("category", "source", "difficulty", "letter", "most")
        return fields | {name: [getattr(line, name) for line in lines] for name in names}

    def most(fields: dict[str, Any], count: str) -> dict[str, Any]:
        return fields | {"most": [count, *fields["most"][1:]]}

    one, two, three = form(), form(), form()
    assert client.post(address, most(one, "50")).status_code == 302
    assert client.post(address, two | {"raters": "3"}).status_code == 302
    bench = services.bench_of(people.one)
    assert (bench.raters, [quota["most"] for quota in bench.quotas]) == (3, [50])
    late = client.post(address, most(three, "70"))
    assert late.status_code == 422 and "changed the quotas in the meantime" in late.content.decode()
    assert services.bench_of(people.one).quotas == bench.quotas
    assert client.post(address, most(form(), "70")).status_code == 302
    assert [quota["most"] for quota in services.bench_of(people.one).quotas] == [70]


def test_agreement_says_its_interval_or_why_there_is_none_and_who_is_simulated() -> None:
    from webapp.bench import pictures

    row: dict[str, Any] = {"category": "", "units": 22, "alpha": {"value": 0.77, "low": None, "high": None}}
    found = {"rows": [row], "videos": 1, "replicates": 1000}
    shown = pictures.agreement(found, 0, simulated=True)
    assert shown is not None and shown["note"].startswith("Simulated raters answered")
    title = "Agreement of simulated raters α = 0.77 (no interval: answers about one video only) over 22 rounds"
    assert shown["title"] == title
    row["alpha"] |= {"low": 0.5, "high": 0.9}
    shown = pictures.agreement(found | {"videos": 4}, 0)
    assert shown is not None and shown["title"] == "Agreement α = 0.77 (95 %: 0.50 to 0.90) over 22 rounds"
