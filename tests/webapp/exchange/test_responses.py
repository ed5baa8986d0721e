"""Files of responses become audits: placed in videos, clips and persons; faults are sentences, nothing is doubled."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ml.formats.errors import FormatError
from tests.webapp.audit.made import give_frames
from tests.webapp.factories import make_person
from webapp.audit.models import Audit, Response
from webapp.exchange import responses
from webapp.lib.errors import Refused

pytestmark = pytest.mark.django_db
ROW: dict[str, Any] = {
    "video": "clip.mp4", "clip_start": 4.0, "clip_end": 8.0, "rendering": "tags", "person_map": {"2": 1},
    "question": "Who looks?", "options": ["A) Person 1", "B) Person 2"], "answer": "B", "model": "m-1",
    "text": "<think>Person 2 looks at Person 1 at 1.0 s.</think><answer>B</answer>", "key": "B",
}  # fmt: skip


@pytest.fixture
def place(people: SimpleNamespace, video: Any, tmp_path: Path) -> SimpleNamespace:
    give_frames(video)
    persons = [make_person(video) for _ in range(2)]
    return SimpleNamespace(project=people.one, user=people.cora, video=video, persons=persons, folder=tmp_path)


def bring(place: SimpleNamespace, *rows: dict[str, Any], name: str = "replies.jsonl", **more: Any) -> Any:
    path = place.folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return responses.import_file(path=path, project=place.project, user=place.user, **more)


def test_a_response_is_placed_in_its_clip_with_its_people(place: SimpleNamespace) -> None:
    """25 frames a second: 4.0 to 8.0 s are the frames [100, 200)."""
    made = bring(place, ROW, ROW | {"text": "<think>So be it.<answer>A", "rendering": "clean", "person_map": {}})
    first, second = made.audit.responses.order_by("position")
    assert (first.start, first.end, first.rendering, first.model) == (100, 200, "tags", "m-1")
    assert first.person_map == {"2": str(place.persons[1].id)}
    assert (first.letters, first.key, first.correct) == (["B"], ["B"], True)
    assert second.person_map == {} and second.repairs  # the broken tags were mended, and that is said
    assert made.audit.name == "replies" and (made.made, made.known) == (2, 0)


def test_the_same_file_again_is_the_same_audit_and_nothing_is_doubled(
    place: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKER_URL", "redis://elsewhere")  # the workers may be another machine, which has SAM 3
    rows = [ROW, ROW | {"text": "Another."}, ROW]
    made = bring(place, *rows)
    assert (made.made, made.known) == (2, 1)  # the third line says the first again
    again = bring(place, *rows)
    assert again.audit.id == made.audit.id and (again.made, again.known) == (0, 3)
    other = bring(place, *rows, grounder="sam3")
    assert other.audit.number == 2 and Response.objects.count() == 4  # another way of looking is another audit


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"video": "nowhere.mp4"}, "there is no video 'nowhere.mp4'"),
        ({"clip_end": 41.0}, r"to 41 s does not lie in a video of 40 s \(clip.mp4\)"),
        ({"clip_start": 8.0, "clip_end": 4.0}, "which is not after its start at 8 s"),
        ({"person_map": {"2": 7}}, "the tag '2' stands for 7"),
        ({"person_map": {"somebody": 1}}, "somebody"),
        ({"rendering": "painted"}, "painted"),
    ],
)
def test_a_fault_names_file_and_line_and_leaves_nothing_behind(
    place: SimpleNamespace, wrong: dict[str, Any], sentence: str
) -> None:
    with pytest.raises((FormatError, Refused), match=sentence) as fault:
        bring(place, ROW, ROW | wrong)
    assert "replies.jsonl" in str(fault.value) and "line 2" in str(fault.value)
    assert not Audit.objects.exists() and not Response.objects.exists()


def test_number_and_id_of_somebody_merged_stay_theirs(place: SimpleNamespace) -> None:
    first, second = place.persons[:2]
    type(second).objects.filter(id=second.id).update(merged_into=first)
    made = bring(place, ROW | {"person_map": {"1": second.number, "2": str(second.id), "3": first.number}})
    assert made.audit.responses.get().person_map == dict.fromkeys("123", str(first.id))


def test_a_summariser_that_is_not_set_up_is_refused_before_anything_is_made(
    place: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SIGHTLINE_SUMMARISER_MODEL", raising=False)
    with pytest.raises(Refused, match="name it in SIGHTLINE_SUMMARISER_MODEL"):
        bring(place, ROW, summariser="local")
    assert not Audit.objects.exists()
    monkeypatch.setenv("SIGHTLINE_SUMMARISER_MODEL", "/somewhere")
    with pytest.raises(Refused, match="needs torch|/somewhere"):
        bring(place, ROW, summariser="local")
    assert not Audit.objects.exists()
    monkeypatch.setenv("BROKER_URL", "redis://elsewhere")
    assert bring(place, ROW, summariser="local").audit.summariser == "local"


def test_a_grounder_that_is_not_set_up_is_refused_by_function_endpoint_and_page(
    place: SimpleNamespace, as_user: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    monkeypatch.delenv("BROKER_URL", raising=False)
    monkeypatch.setattr("ml.torchside.missing", list)
    monkeypatch.setenv("SIGHTLINE_SAM3_WEIGHTS", str(tmp_path / "none"))
    words = f"The weights of SAM 3 are not in {tmp_path / 'none'}."
    with pytest.raises(Refused, match="The weights of SAM 3 are not in") as refused:
        bring(place, ROW, grounder="sam3")
    assert refused.value.field == "grounder"
    client = as_user(place.user)
    for address, more in (("/api/v1/projects/one/audits", {}), ("/p/one/audits/new/", {"raters": 2})):
        file = SimpleUploadedFile("mine.jsonl", json.dumps(ROW).encode())
        answer = client.post(address, {"file": file, "grounder": "sam3", "summariser": "rules"} | more)
        assert answer.status_code == 422 and words in answer.content.decode(), address
    monkeypatch.setenv("SIGHTLINE_WEIGHTS", str(tmp_path))
    with pytest.raises(Refused, match="are missing; fetch them with `make weights`"):
        bring(place, ROW)
    assert not Audit.objects.exists()


def test_the_page_imports_what_was_uploaded_and_starts_it(
    place: SimpleNamespace, as_user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    monkeypatch.setattr("webapp.jobs.broker.send", lambda **_: True)
    client, address = as_user(place.user), "/api/v1/projects/one/audits"
    good = SimpleUploadedFile("mine.jsonl", json.dumps(ROW).encode())
    answer = client.post(address, {"file": good, "name": "Mine", "raters": "3"}).json()
    assert (answer["made"], answer["audit"]["name"], answer["audit"]["raters"]) == (1, "Mine", 3) and answer["job"]
    bad = SimpleUploadedFile("mine.jsonl", json.dumps(ROW | {"video": "x"}).encode())
    refused = client.post(address, {"file": bad})
    assert refused.status_code == 422 and "mine.jsonl" in refused.json()["error"]
    assert "sightline-" not in refused.json()["error"]  # no path of this machine
    monkeypatch.setattr(responses, "LARGEST_UPLOAD", 100)
    refused = client.post(address, {"file": SimpleUploadedFile("mine.jsonl", b" " * 101)})
    assert refused.status_code == 422 and "is brought in by manage.py audit" in refused.json()["error"]
