"""What perception found in a video, as numbers for a person and for a program."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.console import Console
from rich.table import Table

from webapp.events.models import Event
from webapp.jobs.models import Job
from webapp.library.models import Video
from webapp.tracks.models import Run

AFTERWARDS = ("events",)  # stages of the job after those that perceive


def report(run: Run) -> dict[str, Any]:
    """The keys of `manage.py perceive --json`.

    shots: start_frame, end_frame (half-open), persons and faces (median over the shot's samples); gaze_samples; events:
    count by type, rejected ones left out; seconds: wall time by stage; realtime_factor: clip seconds over the wall
    seconds of all perception stages; peak_rss_mb: sum over the processes that took part.
    """
    manifest, job, video = run.manifest, run.job, run.video
    seconds = dict(job.stages) if job else dict(manifest.get("seconds", {}))
    perceiving = sum(value for stage, value in seconds.items() if stage not in AFTERWARDS)
    shots = [
        {"start_frame": s["start"], "end_frame": s["end"], "persons": s["persons"], "faces": s["faces"]}
        for s in manifest["shots"]
    ]
    return {
        "video": str(video.id),
        "run": str(run.id),
        "shots": shots,
        "gaze_samples": manifest["gaze_samples"],
        "events": events_by_type(video),
        "seconds": seconds,
        "realtime_factor": round(video.duration_s / perceiving, 3) if perceiving else None,
        "peak_rss_mb": peak_of(job, manifest),
    }


def events_by_type(video: Video) -> dict[str, int]:
    found = Event.objects.filter(video=video, set__kind__in=["proposal", "working"], modality="gaze")
    return dict(sorted(Counter(found.exclude(status="rejected").values_list("type", flat=True)).items()))


def peak_of(job: Job | None, manifest: dict[str, Any]) -> float:
    """Megabytes: what the worker saw of all its processes, or what perception saw of its own if that was more."""
    return max(float(job.result.get("peak_rss_mb", 0)) if job else 0.0, float(manifest.get("peak_rss_mb", 0)))


def counted(number: int, word: str) -> str:
    """A number with its word: 1 event, 2 events."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def show(found: dict[str, Any], screen: Console) -> None:
    """The report as tables; one that would be empty is left out."""
    shots = Table("shot", "frames", "persons", "faces", title="Shots", title_justify="left")
    for number, shot in enumerate(found["shots"], 1):
        span = f"{shot['start_frame']} - {shot['end_frame'] - 1}"
        shots.add_row(str(number), span, str(shot["persons"]), str(shot["faces"]))
    if found["shots"]:
        screen.print(shots)
    total = sum(found["events"].values())
    screen.print(f"{counted(found['gaze_samples'], 'gaze sample')}, {counted(total, 'event')}")
    events = Table("events", "count")
    for name, count in found["events"].items():
        events.add_row(name.replace("_", " "), str(count))
    if found["events"]:
        screen.print(events)
    times = Table("stage", "seconds", title="Time", title_justify="left")
    for stage, seconds in found["seconds"].items():
        times.add_row(stage, f"{seconds:.1f}")
    if found["seconds"]:
        screen.print(times)
    factor = found["realtime_factor"]
    if factor:
        screen.print(f"Perception: {factor:.2f} x real time, {found['peak_rss_mb']:.0f} MB at its peak")
