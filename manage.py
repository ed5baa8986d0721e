#!/usr/bin/env python
"""Sightline's command line. `--data DIR` names the data folder of the studio a command works on (default: var)."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from webapp.lib import datafolder
from webapp.lib.datafolder import data_folder, take_data_option


def main() -> None:
    sys.argv[1:] = take_data_option(sys.argv[1:])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    datafolder.makes_key = False  # the processes of pages and workers make it
    try:
        from webapp.studio import early

        early.begin(sys.argv[1:])
        from django.core.management import execute_from_command_line
    except ImportError as error:
        refuse(f"{error.name or error} is not installed here; run `make setup`, then use .venv/bin/python manage.py.")
    check_settings()
    execute_from_command_line(sys.argv)


def check_settings() -> None:
    """Load them now: what is wrong in them is one sentence, not a traceback."""
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured

    try:
        settings.DATA  # noqa: B018
    except ImproperlyConfigured as error:
        refuse(str(error))
    except (FileExistsError, NotADirectoryError):
        refuse(f"The data folder {data_folder()} cannot be used: there is a file in its place.")
    except OSError as error:
        refuse(f"The data folder {data_folder()} cannot be used: {error.strerror}.")


def refuse(sentence: str) -> NoReturn:
    print(sentence, file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        raise SystemExit(130) from None
