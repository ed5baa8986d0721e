from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from rich.table import Table

from ml.formats.errors import FormatError
from webapp.audit import services
from webapp.audit.models import Audit, MachineVerdict, Response
from webapp.audit.services import GROUNDERS, SUMMARISERS, Made
from webapp.jobs.models import Job
from webapp.library.models import Project
from webapp.studio.attach import studio
from webapp.studio.command import StudioCommand
from webapp.studio.errors import StudioError
from webapp.studio.follow import follow
from webapp.studio.output import write_json

MOST_REASONS = 20


class Command(StudioCommand):
    help = "Audit models' responses: split them into claims, look for each in the video, give machine verdicts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "responses", type=Path, metavar="RESPONSES.jsonl|RUN_DIR",
            help="A file of responses, or the folder of a finished `python -m ml.evidence.run`.",
        )  # fmt: skip
        parser.add_argument("--project", required=True, help="Slug of the project that has the videos.")
        parser.add_argument("--name", default="", help="Name of the audit (default: that of the file).")
        parser.add_argument("--summariser", help=f"One of {', '.join(SUMMARISERS)} (default: rules, or the folder's).")
        parser.add_argument("--grounder", help=f"One of {', '.join(GROUNDERS)} (default: embedded, or the folder's).")
        parser.add_argument("--raters", type=int, default=2, help="People that rate each response (default: 2).")
        parser.add_argument(
            "--delete", action="store_true",
            help="Hide the evidence of supported claims and ask the configured endpoint again, at its price.",
        )  # fmt: skip
        parser.add_argument("--json", metavar="FILE", help="Write the machine's report; - is the screen.")

    def work(self, **options: Any) -> int:
        from webapp.audit import reporting

        path: Path = options["responses"]
        if not path.exists():
            raise StudioError(f"There is no file or folder {path}.")
        with studio(self.data, "audit", ("cpu", "gpu")) as look_after:
            project = Project.objects.filter(slug=options["project"]).first()
            if project is None:  # it could have no videos
                raise StudioError(f"There is no project {options['project']!r}.")
            made = self.made(path.absolute(), project, options)
            if isinstance(made, Job):
                told = follow(made.id, self.screen, look_after).result
                made = Made(Audit.objects.get(id=told["audit"]), told["made"], told["known"])
            audit = made.audit
            known = f" ({made.known} were there already)" if made.known else ""
            self.screen.print(f"Audit {audit.number}, {audit.name}: {made.made} new responses{known}")
            try:
                follow(services.request_audit(audit=audit, user=None).id, self.screen, look_after)
            except StudioError:
                for broken in Response.objects.filter(audit=audit, state=Response.State.FAILED)[:MOST_REASONS]:
                    self.screen.print(f"Response {broken.position}: {broken.error}", style="yellow")
                raise
            found = outcome(audit)
            self.show(found)
            if options["json"]:
                from ml.evidence import report

                rows = reporting.rows_of(audit, humans=False)
                tree = report.build(rows, title=audit.name, about=reporting.about(audit))
                write_json(options["json"], [{**found, "report": tree}], several=False)
        return 0

    def made(self, path: Path, project: Project, options: dict[str, Any]) -> Made | Job:
        """Bring the responses in, or the job that does. Raises StudioError with the sentence of what is wrong."""
        from webapp.exchange import evidence_folder, responses

        wanted = {name: options[name] for name in ("name", "raters")} | {"deletion": options["delete"]}
        chosen = {name: options[name] for name in ("summariser", "grounder") if options[name]}
        try:
            if path.is_dir():
                return evidence_folder.import_folder(folder=path, project=project, **wanted, **chosen)
            return responses.bring_in(path=path, project=project, user=None, **wanted, **chosen)
        except FormatError as error:
            raise StudioError(str(error)) from error

    def show(self, found: dict[str, Any]) -> None:
        table = Table("verdict", "claims", title="Machine verdicts", title_justify="left")
        for name, count in found["verdicts"].items():
            table.add_row(name.replace("_", " "), str(count))
        self.screen.print(table)


def outcome(audit: Audit) -> dict[str, Any]:
    """What `--json` says beside the report."""
    names = MachineVerdict.objects.filter(claim__response__audit=audit, reprompt=None).values_list("name", flat=True)
    states = Counter(Response.objects.filter(audit=audit).order_by().values_list("state", flat=True))
    return {
        "project": audit.project.slug,
        "audit": str(audit.id),
        "number": audit.number,
        "name": audit.name,
        "summariser": audit.summariser,
        "grounder": audit.grounder,
        "responses": sum(states.values()),
        "failed": states["failed"],
        "claims": len(names),
        "verdicts": dict(sorted(Counter(names).items())),
    }
