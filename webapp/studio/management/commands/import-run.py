from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from ml.formats.errors import FormatError
from webapp.library import services
from webapp.library.models import Project
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import StudioError
from webapp.studio.lookup import find_video
from webapp.studio.output import write_json
from webapp.studio.report import report, show
from webapp.studio.run_masks import bring_masks
from webapp.tracks.models import Run

NEEDS_PLACE = "A gaze file needs --project, or --video to belong to."


class Command(StudioCommand):
    help = "Bring in runs made elsewhere: folders of `python -m ml.perception.run`, or GRASP gaze files (JSON)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("path", nargs="+", type=Path, help="Run folders or GRASP gaze files.")
        parser.add_argument("--project", help="Project to look in; needed, and made when missing, for a gaze file.")
        parser.add_argument("--video", help="Video a gaze file belongs to; without it, one without pictures is made.")
        parser.add_argument("--json", metavar="FILE", help="Write the figures of each run; - is the screen.")

    def work(self, **options: Any) -> int:
        results, worst = [], 0
        if not any(path.exists() for path in options["path"]):  # no studio is begun for them
            raise StudioError(f"There is no file or folder {' or '.join(map(str, options['path']))}.")
        if not (options["project"] or options["video"] or any(path.is_dir() for path in options["path"])):
            raise StudioError(NEEDS_PLACE)
        with studio(self.data, "import-run", begins=True):
            for path in options["path"]:
                try:
                    run = bring_in(path, options["project"], options["video"])
                    results.append(report(run))
                    self.tell(run, results[-1])
                except (StudioError, services.Refused, FormatError) as error:
                    self.screen.print(f"{path}: {error}", style="red")
                    results.append({"path": str(path), "error": str(error)})
                    worst = 2
        if options["json"]:
            write_json(options["json"], results, several=len(options["path"]) > 1)
        return worst

    def tell(self, run: Run, found: dict[str, Any]) -> None:
        self.screen.print(f"Run {run.id} of {run.video.name}")
        show(found, self.screen)
        if run.state == Run.State.LAYER:
            self.screen.print("People have edited this video: the run waits for somebody to accept it.")


def bring_in(path: Path, project_slug: str | None, video_word: str | None) -> Run:
    """The run of a folder or file. Raises StudioError, Refused or FormatError."""
    from webapp.exchange import grasp_gaze, run_folder

    if path.is_dir():
        project = Project.objects.filter(slug=project_slug).first() if project_slug else None
        if project_slug and project is None:
            raise StudioError(f"There is no project {project_slug!r}.")
        run = run_folder.import_folder(folder=path, user=None, project=project)
        bring_masks(path, run)
        return run
    if not path.is_file():
        raise StudioError(f"There is no file or folder {path}.")
    video = find_video(video_word, project_slug) if video_word else None
    if video is None and not project_slug:
        raise StudioError(NEEDS_PLACE)
    if video is not None:
        return grasp_gaze.import_file(path=path, project=video.project, user=None, video=video)
    with services.project_to_fill(slug=str(project_slug)) as project:
        return grasp_gaze.import_file(path=path, project=project, user=None)
