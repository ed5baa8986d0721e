"""Which clip a question needs: once for all questions of one span, another when something that decides it changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from tests.webapp.factories import edit, make_person, make_run, make_tracklet
from tests.webapp.runs import make_filmed_video
from webapp.bench import clips
from webapp.bench.clips import appearances, ensure_clip, follow_clip, stored_clock
from webapp.bench.models import Bench, Clip, Question, Release, ReleaseItem
from webapp.jobs.models import Job
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.library.services import delete_video
from webapp.tracks.models import Person


@pytest.fixture
def film(people: SimpleNamespace) -> Any:
    """60 s at 25 per second with a cut at 20 s; persons 0 and 1 all the time, person 2 from 40 s on."""
    video = make_filmed_video(people.one)
    video.shots = [0, 500]
    video.save()
    run = make_run(video)
    for track, (start, end) in enumerate([(0, 1500), (0, 1500), (1000, 1500)]):
        make_tracklet(run, make_person(video), track, start, end)
    return video


def bench_of(video: Video, **more: Any) -> Bench:
    return Bench.objects.update_or_create(project=video.project, defaults=more)[0]


def ask(video: Video, start: int, end: int, number: int = 1) -> Question:
    return Question.objects.create(
        project=video.project,
        video=video,
        number=number,
        category="mutual_gaze",
        difficulty="medium",
        text="Who?",
        start=start,
        end=end,
    )


def test_it_has_the_padding_the_people_and_a_job(film: Video) -> None:
    """From 8 to 10 s: 6.5 to 12 s is what is shown; 6.5 s lies within frame 162, which is taken whole."""
    question = ask(film, 200, 250)
    clip = ensure_clip(question=question, bench=bench_of(film))
    assert (clip.start, clip.end, clip.rendering, clip.ready) == (162, 300, "tags", False)
    first, second, _ = Person.objects.filter(video=film)
    assert clip.person_map == {"P0": str(first.id), "P1": str(second.id)}
    job = Job.objects.get(kind="clip")
    assert (job.queue, job.video, job.parameters["clip"]) == ("cpu", film, str(clip.id))
    assert job.parameters["tracklets"] == [[0, 0, 1500, str(first.id)], [1, 0, 1500, str(second.id)]]
    question.refresh_from_db()
    assert question.clip == clip


def test_questions_of_one_span_share_it_and_it_is_cut_once(film: Video) -> None:
    bench = bench_of(film)
    clips = [ensure_clip(question=ask(film, 200, 250, number), bench=bench).id for number in (1, 2, 3)]
    other = ensure_clip(question=ask(film, 200, 251, 4), bench=bench)
    assert len(set(clips)) == 1 and other.id not in clips
    assert Clip.objects.count() == Job.objects.filter(kind="clip").count() == 2


def test_it_asks_the_database_a_fixed_number_of_times(film: Video, django_assert_max_num_queries: Any) -> None:
    bench, question = bench_of(film), ask(film, 200, 250)
    ensure_clip(question=question, bench=bench)
    with django_assert_max_num_queries(10):
        ensure_clip(question=question, bench=bench)


def test_padding_stops_at_the_cut(film: Video) -> None:
    clip = ensure_clip(question=ask(film, 480, 500), bench=bench_of(film))
    assert (clip.start, clip.end) == (442, 500)


def test_what_decides_the_picture_makes_another_clip(film: Video) -> None:
    question = ask(film, 200, 250)
    names = {ensure_clip(question=question, bench=bench_of(film)).recipe}
    for change in ({"rendering": "grasp"}, {"rendering": "clean"}, {"blur_faces": True}, {"pad_after_s": 3.0}):
        clip = ensure_clip(question=question, bench=bench_of(film, **change))
        assert clip.recipe not in names, change
        names.add(clip.recipe)
    film.run.tracklets.filter(track=1).update(start=100)  # type: ignore[union-attr]
    assert ensure_clip(question=question, bench=bench_of(film)).recipe not in names


def test_people_elsewhere_in_the_video_do_not_matter(film: Video) -> None:
    bench, question = bench_of(film), ask(film, 200, 250)
    before = ensure_clip(question=question, bench=bench)
    film.run.tracklets.filter(track=2).update(start=1100)  # type: ignore[union-attr]
    assert ensure_clip(question=question, bench=bench) == before


def test_somebody_merged_has_the_tag_of_the_other(film: Video) -> None:
    first, second, _ = Person.objects.filter(video=film)
    second.merged_into = first
    second.save()
    assert appearances(film, 200, 250).tags == {"P0": str(first.id)}


def test_a_clean_clip_needs_no_run(film: Video) -> None:
    film.run = None
    film.save()
    question = ask(film, 200, 250)
    clip = ensure_clip(question=question, bench=bench_of(film, rendering="clean"))
    assert clip.person_map == {} and Job.objects.get(kind="clip").parameters["seen_by"] is None
    for wanted in ({"rendering": "tags"}, {"rendering": "clean", "blur_faces": True}):
        with pytest.raises(Refused, match="run perception first"):
            ensure_clip(question=question, bench=bench_of(film, **wanted))


def test_a_video_without_pictures_has_no_clips(film: Video) -> None:
    film.has_pixels = False
    film.save()
    with pytest.raises(Refused, match="has no pictures"):
        ensure_clip(question=ask(film, 200, 250), bench=bench_of(film))


def test_a_failure_is_said_at_the_clip_and_the_next_need_tries_again(film: Video) -> None:
    bench, question = bench_of(film), ask(film, 200, 250)
    clip = ensure_clip(question=question, bench=bench)
    job = Job.objects.get(kind="clip")
    job.state, job.error = Job.State.FAILED, "The disk is full."
    job.save()
    follow_clip(job)
    clip.refresh_from_db()
    assert clip.error == "The disk is full."
    again = ensure_clip(question=question, bench=bench)
    assert again == clip and again.error == "" and Job.objects.filter(kind="clip", state="queued").count() == 1
    Clip.objects.filter(id=clip.id).update(ready=True)
    Job.objects.filter(kind="clip").delete()
    ensure_clip(question=question, bench=bench)
    assert not Job.objects.filter(kind="clip").exists()


def test_clips_go_with_their_video(film: Video, django_capture_on_commit_callbacks: Any) -> None:
    from django.core.files.base import ContentFile
    from django.core.files.storage import default_storage

    clip = ensure_clip(question=ask(film, 200, 250), bench=bench_of(film))
    default_storage.save(f"{clip.folder}/clip.mp4", ContentFile(b"0123"))
    with django_capture_on_commit_callbacks(execute=True):
        delete_video(video=film)
    assert not Clip.objects.exists() and not default_storage.exists(clip.folder)


def test_a_clock_that_is_not_there_yet_is_an_error(film: Video) -> None:
    with pytest.raises(FileNotFoundError):
        stored_clock(ensure_clip(question=ask(film, 200, 250), bench=bench_of(film)))


def test_an_accepted_questions_clip_is_cut_again_after_a_merge(film: Video, people: SimpleNamespace) -> None:
    question = ask(film, 100, 150)
    bench = bench_of(film)
    old = clips.ensure_clip(question=question, bench=bench)
    assert clips.recut(film) == 0  # a draft's clip is cut when somebody needs it
    Question.objects.filter(id=question.id).update(state="accepted")
    assert clips.recut(film) == 0  # and this one is right
    first, second, *_ = film.persons.order_by("number")
    edit(film, people.alice, "person.merge", second.id, second.version, into=str(first.id))
    assert clips.recut(Video.objects.get(id=film.id)) == 1
    question.refresh_from_db()
    assert question.clip is not None and question.clip_id != old.id
    assert str(second.id) not in question.clip.person_map.values()
    assert Job.objects.filter(kind="clip", parameters__clip=str(question.clip_id)).exists()


def test_clips_that_nothing_needs_are_removed_with_their_files(film: Video) -> None:
    """One is asked about, one is released, one is being cut, one is new; the fifth goes."""
    made = {}
    for n, name in enumerate(("asked", "released", "cutting", "new", "unused")):
        made[name] = Clip.objects.create(video=film, start=n, end=n + 9, rendering="clean", recipe=name * 8, ready=True)
        default_storage.save(f"{made[name].folder}/clip.mp4", ContentFile(b"x"))
    Clip.objects.exclude(id=made["new"].id).update(created=timezone.now() - clips.SPARED * 2)
    Question.objects.filter(id=ask(film, 100, 150).id).update(clip=made["asked"])
    release = Release.objects.create(project=film.project, number=1, sha256="")
    item = {"provenance": {"video": str(film.id)}, "clip": {"recipe": made["released"].recipe}}
    ReleaseItem.objects.create(release=release, position=1, question_version=1, item=item, sha256="")
    Job.objects.create(project=film.project, video=film, kind="clip", queue="cpu",
                       parameters={"clip": str(made["cutting"].id)})  # fmt: skip
    assert clips.sweep(film) == 1 and clips.sweep(film) == 0
    for name, clip in made.items():
        there = name != "unused"
        assert Clip.objects.filter(id=clip.id, ready=True).exists() is there, name
        assert default_storage.exists(f"{clip.folder}/clip.mp4") is there, name
