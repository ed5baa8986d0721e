#!/usr/bin/env python
"""Sightline's command line. `--data DIR` names the data folder of the studio a command works on (default: var)."""

from __future__ import annotations

import os
import sys

from webapp.lib.datafolder import take_data_option


def main() -> None:
    sys.argv[1:] = take_data_option(sys.argv[1:])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        raise SystemExit(
            "Django is not installed here; run `make setup`, then use .venv/bin/python manage.py."
        ) from None

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
