from __future__ import annotations

import re
from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ml.endpoint import EndpointError
from ml.formats.errors import FormatError
from ml.questions.taxonomy import SCHEMES
from webapp.library.models import Project
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import BAD_INPUT, StudioError
from webapp.studio.output import write_json

COLOURS = {"error": "red", "warning": "yellow", "note": "dim"}
OF_ANOTHER = ("contradicting_questions", "duplicate_question", "near_duplicate_question")  # these name one more item
ITEM = re.compile(r"\b([Ii]tem) (\d+)\b")
SHOWN = 200  # findings printed; --json has all


class Command(StudioCommand):
    help = (
        "Check benchmark items: a GRASP-layout file or folder (nothing is imported), or the questions of a project. "
        "Ends with 0 when a release may be cut, 1 when there are errors, 2 when the input cannot be used."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "source", metavar="FILE_OR_PROJECT", help="Items (JSON list, JSON lines or a folder), or a project."
        )
        parser.add_argument("--json", metavar="FILE", help="Write the findings; - is the screen.")
        parser.add_argument("--scheme", choices=SCHEMES, help="What the category codes of the file mean.")
        parser.add_argument("--train", type=Path, metavar="FILE", help="The training split, to look for leaks.")
        parser.add_argument(
            "--events", type=Path, nargs="+", default=[], metavar="FILE",
            help="GRASP events, gestures, graph or gaze files, or folders of them, to hold keys against.",
        )  # fmt: skip
        parser.add_argument("--clips", type=Path, metavar="FOLDER", help="The items' clips, to compare pictures.")
        parser.add_argument("--train-clips", type=Path, metavar="FOLDER", help="Training videos, to compare pictures.")
        parser.add_argument(
            "--embedding", type=Path, metavar="FOLDER",
            help="Weights of a MiniLM sentence embedding (default: SIGHTLINE_EMBEDDING_DIR).",
        )  # fmt: skip
        parser.add_argument(
            "--ask", type=int, default=0, metavar="N", help="Ask the configured model about N items without video."
        )

    def work(self, **options: Any) -> int:
        try:
            with ExitStack() as stack:
                report, more = self.report(stack, options)
        except (FormatError, EndpointError) as error:
            self.screen.print(str(error), style="red", markup=False)
            return BAD_INPUT
        self.show(report, more.get("questions"))
        if options["json"]:
            write_json(options["json"], [{"source": options["source"], **report.tree(), **more}], several=False)
        code: int = report.exit_code
        return code

    def report(self, stack: ExitStack, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The report, and what else the JSON holds."""
        from ml.questions.lint import run

        source = Path(options["source"])
        world = world_of(stack, options)
        if source.exists():
            ones, malformed = run.read(source, world.scheme)
            add_pictures(world, ones, options)
            return run.lint(ones, world, malformed), {"scheme": world.scheme}
        if source.suffix or len(source.parts) != 1:
            raise StudioError(f"There is no file or folder {source}.")
        from webapp.bench import linting

        stack.enter_context(studio(self.data, "lint-bench"))
        project = Project.objects.filter(slug=options["source"]).first()
        if project is None:
            raise StudioError(f"There is no file, folder or project {options['source']!r}.")
        found = linting.lint_project(project, world)
        return found.report, {"questions": found.numbers}

    def show(self, report: Any, numbers: list[int] | None) -> None:
        """`numbers`: of a project's questions by position, which is how people know them."""
        for finding in report.findings[:SHOWN]:
            where, sentence = f"item {finding.item}", finding.sentence
            if finding.item is None:
                where = "the set"
            elif numbers:
                where = f"question {numbers[finding.item]}"
                if finding.code in OF_ANOTHER:
                    sentence = ITEM.sub(
                        lambda found: f"{'Q' if found[1] == 'Item' else 'q'}uestion {numbers[int(found[2])]}",
                        sentence,
                        count=1,
                    )
            line = f"{finding.severity:7} {where}: {sentence} ({finding.code})"
            self.screen.print(line, style=COLOURS[finding.severity], markup=False)
        if len(report.findings) > SHOWN:
            self.screen.print(f"And {len(report.findings) - SHOWN} more; --json writes all.")
        counts = report.counts
        verdict = "A release may not be cut." if counts["error"] else "A release may be cut."
        said = ", ".join(f"{counts[word]} {word}{'s' * (counts[word] != 1)}" for word in COLOURS)
        self.screen.print(f"{report.items} item{'s' * (report.items != 1)}: {said}. {verdict}")


def world_of(stack: ExitStack, options: dict[str, Any]) -> Any:
    """What the checks may consult. Raises FormatError and StudioError."""
    from ml.questions.lint import embedding, recordings, tables
    from ml.questions.lint.one import World

    world = World(scheme=options["scheme"])
    if options["events"]:
        world.tables = tables.read(options["events"])
    if options["train"]:
        world.train = list(recordings.train(options["train"]))
    world.embedder = embedding.configured(options["embedding"])
    if options["ask"] > 0:
        from ml.questions.lint import asking

        world.ask_most = options["ask"]
        world.asker = stack.enter_context(asking.configured())
    return world


def add_pictures(world: Any, ones: Any, options: dict[str, Any]) -> None:
    """Hashes of clips and training videos, where folders of them were named."""
    from ml.questions.lint import pictures

    if options["clips"]:
        world.hashes = pictures.of_items(ones, options["clips"])
    if options["train_clips"]:
        world.train = [*(world.train or []), *pictures.of_train(options["train_clips"])]
