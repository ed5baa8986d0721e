from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from webapp.bench import proving
from webapp.bench.proving import Proved
from webapp.lib.errors import Refused
from webapp.library.models import Project, Video
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import BAD_INPUT, StudioError
from webapp.studio.lookup import find_video
from webapp.studio.output import write_json

FELL = 1  # exit code: some proof does not stand


class Command(StudioCommand):
    help = "Run the proofs of questions again, and say which do not stand and what changed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("video", nargs="*", help="Id, sha256, file or name of an imported video.")
        parser.add_argument("--all", action="store_true", help="Every video that has questions.")
        parser.add_argument("--project", help="Every video of this project; with videos, look for them there only.")
        parser.add_argument("--json", metavar="FILE", help="Write one object a video; - is the screen.")

    def work(self, **options: Any) -> int:
        with studio(self.data, "prove"):
            results = [self._prove(video) for video in _videos(options)]
        total = sum(result["proofs"] for result in results)
        standing = sum(result["standing"] for result in results)
        videos = f"{len(results)} video{'' if len(results) == 1 else 's'}"
        self.screen.print(f"{standing} of {total} proofs stand, in {videos}.")
        if options["json"]:
            write_json(options["json"], results, several=True)
        if any("error" in result for result in results):
            return BAD_INPUT
        return FELL if standing < total else 0

    def _prove(self, video: Video) -> dict[str, Any]:
        try:
            done = proving.prove(video)
        except Refused as refused:
            self.screen.print(f"{video.name}: {refused.sentence}", style="red")
            return _row(video, Proved(video.id, video.revision)) | {"error": refused.sentence}
        row = _row(video, done)
        for fallen in row["fallen"]:
            self.screen.print(f"{video.name}: question {fallen['number']}: {fallen['why']}")
        return row


def _videos(options: dict[str, Any]) -> list[Video]:
    """Raises StudioError or Refused when it is not said which, or not known."""
    if options["video"]:
        return [find_video(word, options["project"]) for word in options["video"]]
    found = Video.objects.filter(has_questions=True).select_related("project").order_by("created", "id")
    if options["project"]:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise StudioError(f"There is no project {options['project']!r}.")
        return list(found.filter(project=project))
    if not options["all"]:
        raise StudioError("Say which: a video, --project NAME or --all.")
    return list(found)


def _row(video: Video, done: Proved) -> dict[str, Any]:
    """What a run found; `fallen` lists every question that does not stand, `changed` those that did so until now."""
    return {
        "video": str(video.id),
        "name": video.name,
        "project": video.project.slug,
        "revision": done.revision,
        "proofs": done.proofs,
        "standing": done.standing,
        "changed": [number for number, _ in done.fell],
        "risen": done.rose,
        "fallen": [{"number": number, "why": why} for number, why in done.down],
    }
