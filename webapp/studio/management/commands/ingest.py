from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from ml.formats.hashing import sha256_of
from webapp.library import services
from webapp.library.models import Project, Video
from webapp.studio import manifest
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import StudioError
from webapp.studio.follow import follow
from webapp.studio.manifest import Entry
from webapp.studio.output import write_json


class Command(StudioCommand):
    help = "Import video files into a project."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("path", nargs="*", type=Path, help="Video files.")
        parser.add_argument(
            "--project", required=True, help="Short name of the project; made when missing and a file can be used."
        )
        parser.add_argument("--manifest", type=Path, metavar="CSV", help=f"Columns: {', '.join(manifest.COLUMNS)}.")
        parser.add_argument("--json", metavar="FILE", help="Write video, sha256, frames and warnings; - is the screen.")

    def work(self, **options: Any) -> int:
        entries = [Entry(path, path.name) for path in options["path"]]
        if options["manifest"]:
            entries += manifest.read(options["manifest"])
        if not entries:
            raise StudioError("Name at least one file, or a manifest with --manifest.")
        services.need_slug(options["project"])
        if not any(entry.path.is_file() for entry in entries):  # no studio is begun for them
            results = [{"path": str(entry.path), "error": no_file(entry)} for entry in entries]
            for row in results:
                self.screen.print(f"{row['path']}: {row['error']}", style="red")
            return self.written(results, options["json"], 2)
        results, worst = [], 0
        with (
            studio(self.data, "ingest", ("cpu",), begins=True) as look_after,
            services.project_to_fill(slug=options["project"]) as project,
        ):
            for entry in entries:
                try:
                    video = import_one(project, entry, self.screen, look_after)
                    results.append(outcome(video))
                    self.tell(video)
                except (StudioError, services.Refused) as error:
                    self.screen.print(f"{entry.path}: {error}", style="red")
                    results.append({"path": str(entry.path), "error": str(error)})
                    worst = max(worst, getattr(error, "code", 2))
        return self.written(results, options["json"], worst)

    def written(self, results: list[dict[str, Any]], where: str | None, code: int) -> int:
        if where:
            write_json(where, results, several=len(results) > 1)
        return code

    def tell(self, video: Video) -> None:
        self.screen.print(f"{video.name}: video {video.id}, {video.frames} frames")
        for warning in video.warnings:
            self.screen.print(f"  {warning}", style="yellow")


def outcome(video: Video) -> dict[str, Any]:
    return {"video": str(video.id), "sha256": video.blob_id, "frames": video.frames, "warnings": video.warnings}


def no_file(entry: Entry) -> str:
    return f"There is no file {entry.path}."


def import_one(project: Project, entry: Entry, screen: Any, look_after: Any) -> Video:
    """Import one file and wait for it. Raises StudioError or Refused; a file that fails leaves no video behind."""
    if not entry.path.is_file():
        raise StudioError(no_file(entry))
    twin = services.twin_of(project=project, sha256=sha256_of(entry.path))
    if twin is not None:
        raise services.AlreadyHere(twin)
    video = services.create_video(project=project, name=entry.name, user=None, **entry.provenance)
    try:
        follow(services.import_file(video=video, path=entry.path).id, screen, look_after)
    except BaseException:
        services.delete_video(video=video)
        raise
    video.refresh_from_db()
    return video
