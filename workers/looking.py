"""What an audit looks at in one video: footage, people, what is known of it; opened once for all its responses.

Everything is that of the accepted run and of the events as they are now; a video without a run has footage only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ml.evidence.grounding.protocol import Footage
from ml.evidence.statements import GazeLooks, Truth
from ml.media.clips import plan
from ml.media.index import FrameIndex
from ml.perception.gestures.run import people_of
from ml.questions.clip import ClipClock
from ml.social.scene import Correction, Scene
from webapp.audit.models import Response
from webapp.bench.clips import stored_clock
from webapp.bench.facts import facts_of
from webapp.events.deriving import CODES
from webapp.events.gesturing import Snapshot
from webapp.events.models import GazeCorrection
from webapp.lib import storage
from webapp.lib.errors import Refused
from webapp.library.models import Video
from webapp.tracks.models import Person
from webapp.tracks.queries import roots_of
from webapp.tracks.samples import samples_of
from workers.tasks.masking import person_masks_of


@dataclass(frozen=True)
class Seen:
    """One video. `numbers`: person id -> number of whom they were merged into. `about`: where all of it comes from."""

    video: Video
    footage: Footage
    truth: Truth
    numbers: Mapping[str, int]
    about: Mapping[str, Any]


@contextmanager
def opened(video_id: Any, scratch: Path) -> Iterator[Seen]:
    """The video with local copies of its files; `scratch` is a folder of the job's. Raises Refused where there is
    nothing to look at."""
    video = Video.objects.select_related("blob", "run").get(id=video_id)
    if video.blob is None or not video.has_pixels or video.state != Video.State.READY:
        raise Refused("An audit needs a video with pictures whose import is done.", "video")
    facts = facts_of(video)
    roots = roots_of(video)
    numbers = dict(Person.objects.filter(video=video).values_list("id", "number"))
    own = {str(id): number for id, number in numbers.items()}
    with ExitStack() as files:
        path = files.enter_context(storage.local(video.blob.original))
        index = FrameIndex.load(files.enter_context(storage.local(f"{video.blob.folder}/frames.npz")))
        people, masks, looks, shots = None, None, None, spans_of(video)
        if video.run is not None:
            shots = [(shot["start"], shot["end"]) for shot in video.run.manifest["shots"]]
            samples = files.enter_context(storage.local(f"{video.run.folder}/samples.parquet"))
            spans = Snapshot.of(video).spans
            people = people_of(samples, spans)
            scratch.mkdir(parents=True, exist_ok=True)
            masks = person_masks_of(video.run, spans, scratch)
            looks = looks_of(video, index, {id: own[root] for id, root in roots.items()})
        footage = Footage(path, index, video.width, video.height, shots, people, masks)
        truth = Truth.of(index, shots, facts=facts, looks=looks, people=people)
        about: dict[str, Any] = {"video": video.blob.sha256, "run": str(video.run_id) if video.run_id else None}
        about |= {"set": facts.set, "revision": facts.revision}
        yield Seen(video, footage, truth, {id: own[root] for id, root in roots.items()}, about)


def spans_of(video: Video) -> list[tuple[int, int]]:
    """Shots as spans; the whole video where nobody cut it."""
    edges = sorted({0, *video.shots, video.frames})
    return list(zip(edges, edges[1:], strict=False))


def looks_of(video: Video, index: FrameIndex, numbers: Mapping[str, int]) -> GazeLooks:
    """Who looks at whom, by the accepted run and people's corrections."""
    run = video.run
    assert run is not None
    rows = [(t.track, t.start, t.end, numbers[str(t.person_id)]) for t in run.tracklets.order_by("track", "start")]
    corrections = [
        Correction(
            person=numbers[str(one.person_id)],
            start=one.start,
            end=one.end,
            kind=CODES[one.kind],
            x=one.x,
            y=one.y,
            target_person=numbers[str(one.target_person_id)] if one.target_person_id else None,
        )
        for one in GazeCorrection.objects.filter(video=video)
    ]
    shots = [shot["start"] for shot in run.manifest["shots"]]
    scenes = Scene.each_shot(
        samples_of(run),
        person_of=np.array(rows, np.int64).reshape(-1, 4),
        seconds=index.seconds,
        aspect=video.width / video.height,
        corrections=corrections,
        shot_ends=[*shots[1:], video.frames],
    )
    return GazeLooks.of_scenes(scenes)


def clock_of(response: Response, index: FrameIndex) -> ClipClock:
    """The clip's clock: that of the cut clip, else which frames one cut now would show when."""
    if response.clip is not None and response.clip.ready:
        return stored_clock(response.clip)
    start, end = response.start, response.end
    if response.rendering != "grasp":
        seconds = index.zeroed[start : end + 1] - index.zeroed[start]
        return ClipClock(np.arange(start, end), seconds[:-1], start, end, float(seconds[-1]))
    shown = plan(index, start, end, "grasp")
    return ClipClock(shown.frame, shown.index.zeroed[:-1], start, end, shown.index.duration_s)


def tags_of(response: Response, numbers: Mapping[str, int]) -> dict[int, int]:
    """Person number by printed tag; a tag of somebody who is gone is nobody's."""
    return {int(tag): numbers[person] for tag, person in response.person_map.items() if person in numbers}
