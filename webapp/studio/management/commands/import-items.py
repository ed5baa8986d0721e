from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from ml.formats.errors import FormatError
from ml.questions.taxonomy import SCHEMES
from webapp.library.models import Project
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import BAD_INPUT, StudioError
from webapp.studio.output import write_json


class Command(StudioCommand):
    help = "Bring GRASP benchmark items into a project as questions. A file with one fault leaves nothing behind."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, help="Items: a JSON list, JSON lines, or a folder of item files.")
        parser.add_argument("--project", required=True, help="The project that has their videos.")
        parser.add_argument("--scheme", choices=SCHEMES, help="What the category codes of the file mean.")
        parser.add_argument("--json", metavar="FILE", help="Write what was made; - is the screen.")

    def work(self, **options: Any) -> int:
        from webapp.exchange import grasp_items

        with studio(self.data, "import-items"):
            project = Project.objects.filter(slug=options["project"]).first()
            if project is None:
                raise StudioError(f"There is no project {options['project']!r}.")
            try:
                done = grasp_items.import_file(
                    path=options["file"], project=project, user=None, scheme=options["scheme"]
                )
            except FormatError as error:
                self.screen.print(str(error), style="red", markup=False)
                return BAD_INPUT
            made = len(done.questions)
            self.screen.print(
                f"{made} of {done.items} items are questions now{here(len(done.here))}{left_out(len(done.left_out))}."
            )
            if options["json"]:
                numbers = [question.number for question in done.questions]
                told = {"items": done.items, "questions": numbers, "here": done.here, "left_out": done.left_out}
                write_json(options["json"], [told], several=False)
        return 0


def here(count: int) -> str:
    """How many the project has already."""
    return f"; {count} {'is' if count == 1 else 'are'} here already" if count else ""


def left_out(count: int) -> str:
    """The end of the sentence that says what was made."""
    if not count:
        return ""
    return f"; {count} {'was' if count == 1 else 'were'} left out, since no quota has room"
