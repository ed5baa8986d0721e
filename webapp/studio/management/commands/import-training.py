from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from webapp.library.models import Project
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import StudioError
from webapp.studio.output import write_json


class Command(StudioCommand):
    help = "Bring in the folder of a run that was trained elsewhere, on a snapshot that the project has."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("folder", type=Path, metavar="RUN_FOLDER", help="The run's folder, or an exported one.")
        parser.add_argument("--project", required=True, help="Slug of the project.")
        parser.add_argument("--name", default="", help="What the run is called.")
        parser.add_argument("--json", metavar="FILE", help="Write what came in; - is the screen.")

    def work(self, **options: Any) -> int:
        from webapp.runs.importing import import_folder

        folder: Path = options["folder"].absolute()
        if not folder.is_dir():
            raise StudioError(f"There is no folder {folder}.")
        with studio(self.data, "import-training"):
            project = Project.objects.filter(slug=options["project"]).first()
            if project is None:
                raise StudioError(f"There is no project {options['project']!r}.")
            run = import_folder(folder=folder, project=project, user=None, name=options["name"])
            found = {
                "project": project.slug,
                "run": str(run.id),
                "number": run.number,
                "name": run.name,
                "state": run.state,
                "step": run.step,
                "metrics": run.metrics.count(),
                "rollouts": run.rollouts.count(),
                "checkpoints": run.checkpoints.count(),
            }
        self.screen.print(
            f"Run {run.number}, {run.name}: {run.state} at step {run.step}, {found['metrics']} steps logged"
        )
        if options["json"]:
            write_json(options["json"], [found], several=False)
        return 0
