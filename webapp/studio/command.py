"""What all of Sightline's commands share: sentences instead of tracebacks, and exit codes.

0 done, 2 bad input (one sentence), 3 model weights missing, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from rich.console import Console

from ml.formats.plainfile import FULL
from ml.weights.cache import MissingWeights
from webapp.lib.errors import Refused
from webapp.studio.errors import BAD_INPUT, INTERRUPTED, NO_WEIGHTS, StudioError
from webapp.studio.output import check_target


class StudioCommand(BaseCommand):
    """A command that says what went wrong in one sentence. `--data DIR` is taken by manage.py before Django starts."""

    requires_system_checks: Any = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data", metavar="DIR", help="Data folder of the studio (default: var in the checkout).")

    @property
    def data(self) -> Path:
        return Path(settings.DATA)

    @property
    def screen(self) -> Console:
        """For bars and words; standard output is kept for results."""
        return Console(stderr=True, highlight=False, soft_wrap=True, markup=False)  # names of files hold brackets

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            check_words(options)
            if options.get("json"):
                check_target(options["json"])
            code = self.work(**options)
        except StudioError as error:
            self.screen.print(str(error), style="red")
            code = error.code
        except Refused as error:
            self.screen.print(error.sentence, style="red")
            code = NO_WEIGHTS if isinstance(error.__cause__, MissingWeights) else BAD_INPUT
        except OSError as error:
            self.screen.print(about_files(error, self.data), style="red")
            code = BAD_INPUT
        except KeyboardInterrupt:
            self.screen.print("Interrupted.")
            code = INTERRUPTED
        if code:
            sys.exit(code)

    def work(self, **options: Any) -> int:
        """Do it; the exit code."""
        raise NotImplementedError


def check_words(options: Mapping[str, Any]) -> None:
    """Raises StudioError for a word that is no text, and no file there is: the database could not look for it."""
    for value in options.values():
        for word in value if isinstance(value, list) else [value]:
            if isinstance(word, str) and not is_text(word) and not os.path.lexists(word):
                raise StudioError(f"{word!a} is no text in UTF-8.")


def is_text(word: str) -> bool:
    """Whether a word of the command line could be decoded."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def about_files(error: OSError, data: Path) -> str:
    """A sentence for a file or folder that the system refuses."""
    if error.errno in FULL:
        return f"The disk that holds {error.filename or data} is full."
    if error.filename is None or error.strerror is None:
        raise error  # not about a file: a fault of ours
    return f"{error.filename} cannot be used: {error.strerror}."
