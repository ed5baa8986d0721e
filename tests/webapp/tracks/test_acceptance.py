"""Re-running perception: persons are found again, human work stays, and what no longer fits is listed."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.figures import Record
from tests.webapp.factories import edit, make_proposal, make_video
from tests.webapp.runs import compare
from webapp.events.models import Event
from webapp.library.models import Video
from webapp.tracks import acceptance, services
from webapp.tracks.models import IdentityProposal, Person, Run, Tracklet

pytestmark = pytest.mark.django_db

Track = tuple[int, int, int, float]  # raw id, start, end, x of the box


def write_run(video: Video, folder: Path, tracks: list[Track], identity: list[dict[str, Any]] | None = None) -> Run:
    """A run with a box every 5 frames for each track."""
    folder.mkdir()
    rows = sorted((f, t, x, 0.2, x + 0.1, 0.8) for t, start, end, x in tracks for f in range(start, end, 5))
    columns = np.array(rows)
    names = ["frame", "track", *(f"body_{side}" for side in ("x1", "y1", "x2", "y2"))]
    types = [np.int32, np.int32, *[np.float32] * 4]
    pq.write_table(
        pa.table({n: columns[:, i].astype(t) for i, (n, t) in enumerate(zip(names, types, strict=True))}),
        folder / "samples.parquet",
    )
    manifest = {
        "rate": 5,
        "shots": [{"start": 0, "end": 150}, {"start": 150, "end": 250}, {"start": 250, "end": 550}],
        "tracks": [{"track": t, "start": s, "end": e} for t, s, e, _ in tracks],
        "identity": identity or [],
    }
    return services.add_run(
        run_id=uuid.uuid4(),
        video=video,
        job=None,
        profile="embedded",
        origin="perception",
        manifest=manifest,
        folder=folder,
    )


def accept(run: Run) -> None:
    """Acceptance without derivation, which has its own tests."""
    compare(run)
    services.accept_run(run=Run.objects.get(id=run.id), user=None)


@pytest.fixture
def video(people: SimpleNamespace) -> Video:
    return make_video(people.one)


def owners(run: Run) -> dict[tuple[int, int], int]:
    return {(t.track, t.start): t.person.number for t in Tracklet.objects.filter(run=run).select_related("person")}


def test_the_first_run_numbers_people_from_left_to_right_and_joins_faces(video: Video, tmp_path: Path) -> None:
    identity = [
        {"a": 2, "b": 11, "similarity": 0.8, "band": "same"},
        {"a": 1, "b": 12, "similarity": 0.6, "band": "ask"},
    ]
    run = write_run(
        video, tmp_path / "a", [(1, 0, 150, 0.7), (2, 0, 150, 0.1), (11, 150, 250, 0.5), (12, 150, 250, 0.2)], identity
    )
    accept(run)
    # left to right in shot one: track 2 is 0, track 1 is 1; in shot two track 11 is 0 by face, track 12 is new: 2
    assert owners(run) == {(2, 0): 0, (1, 0): 1, (11, 150): 0, (12, 150): 2}
    asked = IdentityProposal.objects.get()
    assert (asked.first.number, asked.second.number, asked.similarity, asked.state) == (1, 2, 0.6, "open")
    assert Video.objects.get(id=video.id).person_count == 3


def test_a_second_run_keeps_names_merges_and_splits(video: Video, tmp_path: Path, people: Any) -> None:
    first = write_run(video, tmp_path / "a", [(1, 0, 150, 0.1), (2, 0, 150, 0.5), (3, 150, 250, 0.3)])
    accept(first)
    ann, ben, cat = Person.objects.filter(video=video).order_by("number")
    edit(video, people.bob, "person.update", ann.id, 1, name="Ann")
    edit(video, people.bob, "person.merge", cat.id, 1, into=str(ben.id))
    new = uuid.uuid4()
    tracklet = Tracklet.objects.get(run=first, track=1)
    edit(video, people.bob, "person.split", ann.id, 2, tracklets=[str(tracklet.id)], at=60, new=str(new))
    second = write_run(video, tmp_path / "b", [(7, 0, 150, 0.5), (8, 0, 150, 0.11), (9, 150, 250, 0.3)])
    assert owners(second) == {}
    accept(second)
    # track 8 lies where track 1 lay: Ann until 60, the split-off person (number 3) after; 9 is cat, merged into ben
    assert owners(second) == {(7, 0): 1, (8, 0): 0, (8, 60): 3, (9, 150): 1}
    assert Person.objects.get(id=ann.id).name == "Ann"
    assert Person.objects.filter(video=video).count() == 4
    assert Run.objects.get(id=first.id).state == "replaced"


def test_edits_that_no_longer_fit_are_listed_and_kept(video: Video, tmp_path: Path, people: Any) -> None:
    accept(write_run(video, tmp_path / "a", [(1, 0, 150, 0.1), (2, 0, 150, 0.5), (3, 250, 500, 0.5)]))
    ann, ben, cat = Person.objects.filter(video=video).order_by("number")
    edit(video, people.bob, "person.update", cat.id, 1, name="Cat")
    proposal = make_proposal(video, "mutual_gaze", 10, 60, [(ann, "member"), (ben, "member")])
    untouched = make_proposal(video, "mutual_gaze", 70, 90, [(ann, "member"), (ben, "member")])
    edit(video, people.bob, "event.update", proposal.id, 1, status="confirmed")
    edit(
        video, people.bob, "correction.create", uuid.uuid4(), person=str(ben.id), start=20, end=40, kind="camera"
    )  # fmt: skip
    run = write_run(video, tmp_path / "b", [(5, 0, 150, 0.1)])
    compare(run)
    conflicts = Run.objects.get(id=run.id).report["conflicts"]
    assert [(c["kind"], c["frame"]) for c in conflicts] == [("person", 250), ("event", 10), ("correction", 20)]
    assert "Cat" in conflicts[0]["sentence"] and "Person 1" in conflicts[1]["sentence"]
    services.accept_run(run=Run.objects.get(id=run.id), user=people.cora)
    assert Event.objects.get(id=proposal.id).status == "confirmed"
    assert Event.objects.filter(id=untouched.id).exists()  # derivation, not acceptance, decides on proposals
    assert set(Person.objects.filter(video=video)) == {ann, ben, cat}


def test_edits_about_a_time_between_two_sightings_are_listed(video: Video, tmp_path: Path, people: Any) -> None:
    accept(write_run(video, tmp_path / "a", [(1, 0, 500, 0.1)]))
    ann = Person.objects.get(video=video)
    spans = [(90, 100), (99, 130), (100, 130), (100, 131), (150, 250), (250, 260), (499, 500)]
    for start, end in spans:
        edit(
            video, people.bob, "correction.create", uuid.uuid4(), person=str(ann.id), start=start, end=end, kind="off"
        )  # fmt: skip
    run = write_run(video, tmp_path / "b", [(5, 250, 500, 0.1), (6, 130, 150, 0.1), (7, 0, 100, 0.1)])
    compare(run)
    # Ann is seen in [0, 100), [130, 150) and [250, 500); two of the corrections meet none of these
    assert [c["frame"] for c in Run.objects.get(id=run.id).report["conflicts"]] == [100, 150]


def test_an_edit_between_comparing_and_accepting_asks_for_a_new_comparison(
    video: Video, tmp_path: Path, people: Any
) -> None:
    accept(write_run(video, tmp_path / "a", [(1, 0, 150, 0.1)]))
    run = write_run(video, tmp_path / "b", [(5, 0, 150, 0.1)])
    compare(run)
    edit(video, people.bob, "person.update", Person.objects.get().id, 1, name="Ann")
    with pytest.raises(services.Refused, match="compare again"):
        services.accept_run(run=Run.objects.get(id=run.id), user=None)
    assert Run.objects.get(id=run.id).state == "layer"


def test_a_face_called_different_by_a_human_stays_different(video: Video, tmp_path: Path, people: Any) -> None:
    ask = [{"a": 1, "b": 2, "similarity": 0.6, "band": "ask"}]
    accept(write_run(video, tmp_path / "a", [(1, 0, 150, 0.1), (2, 150, 250, 0.5)], ask))
    edit(video, people.bob, "identity.answer", IdentityProposal.objects.get().id, 1, state="different")
    same = [{"a": 1, "b": 2, "similarity": 0.9, "band": "same"}]
    second = write_run(video, tmp_path / "b", [(1, 0, 150, 0.1), (2, 150, 250, 0.5)], same)
    accept(second)
    assert owners(second) == {(1, 0): 0, (2, 150): 1}
    assert IdentityProposal.objects.get().state == "different"


def test_accepting_twice_changes_nothing(video: Video, tmp_path: Path) -> None:
    run = write_run(video, tmp_path / "a", [(1, 0, 150, 0.1)])
    accept(run)
    services.accept_run(run=Run.objects.get(id=run.id), user=None)
    assert (Person.objects.count(), Tracklet.objects.count()) == (1, 1)


def shots_of(people: int, shots: int, first: int) -> tuple[list[Track], list[dict[str, Any]]]:
    """Tracks of `people` persons through shots of 100 frames, and pairs: everybody in one shot and in the next."""
    tracks = [
        (first + shot * people + n, shot * 100, shot * 100 + 100, 0.045 * n)
        for shot in range(shots)
        for n in range(people)
    ]
    bands = [("same", 0.9), ("ask", 0.6)]
    pairs = [
        {"a": a[0], "b": b[0], "similarity": similarity, "band": band}
        for at, (a, b) in enumerate(zip(tracks, tracks[people:], strict=False))
        for band, similarity in [bands[at % 2]]
    ]
    return tracks, pairs


def test_the_number_of_queries_does_not_grow_with_the_tracklets(people: SimpleNamespace, tmp_path: Path) -> None:
    asked = []
    for shots in (3, 12):
        video = make_video(people.one)
        with CaptureQueriesContext(connection) as queries:
            for name, first in ((f"first-{shots}", 0), (f"again-{shots}", 5000)):
                accept(write_run(video, tmp_path / name, *shots_of(5, shots, first)))
        assert Tracklet.objects.filter(run__video=video).count() == 2 * 5 * shots
        asked.append(len(queries))
    assert asked[0] == asked[1]


@pytest.mark.bench
def test_bench_a_run_of_3000_tracklets_over_another(video: Video, tmp_path: Path, figure: Record) -> None:
    accept(write_run(video, tmp_path / "a", *shots_of(20, 150, 1)))
    run = write_run(video, tmp_path / "b", *shots_of(20, 150, 5000))
    began = time.process_time()
    plan = acceptance.plan(video=Video.objects.select_related("run").get(id=video.id), run=run)
    figure("plan of accepting 3,000 tracklets over 3,000", time.process_time() - began, "s", note="processor time")
    assert len(plan.tracklets) == 3000
    services.save_report(run=run, plan=plan, revision=Video.objects.get(id=video.id).revision)
    began = time.monotonic()
    services.accept_run(run=run, user=None)
    figure("writing 3,000 accepted tracklets", time.monotonic() - began, "s", note="wall, database included")
