"""Variables of the environment, checked: a wrong one is one sentence that names it."""

from __future__ import annotations

import os
import warnings
from typing import Any
from urllib.parse import unquote

import environ
from django.core.exceptions import ImproperlyConfigured

BROKERS = ("redis", "rediss", "redis+socket", "sentinel", "amqp", "amqps", "pyamqp")


def whole_number(name: str, default: int) -> int:
    """A number from 0 on. Raises ImproperlyConfigured."""
    text = os.environ.get(name) or str(default)
    if not text.strip().isdecimal():
        raise ImproperlyConfigured(f"{name} must be a whole number, not {text!r}.")
    return int(text)


def postgres(name: str) -> dict[str, Any]:
    """The entry for DATABASES of a postgres:// address. Raises ImproperlyConfigured."""
    url = os.environ[name]
    if url.partition("://")[0] not in ("postgres", "postgresql"):
        raise ImproperlyConfigured(f"{name} is not of the form postgres://user:password@host:port/database.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found: dict[str, Any] = environ.Env.db_url_config(url)
        except ValueError:  # its words would quote parts of the address, perhaps of the password
            raise ImproperlyConfigured(
                f"{name} cannot be read: write special characters of the user and the password as %XX, such as %2F for "
                "/, and the port as a number."
            ) from None
    found["HOST"] = unquote(found["HOST"])  # a socket folder arrives as %2F...
    return found


def broker(name: str) -> str:
    """The broker's address, empty without one. Raises ImproperlyConfigured."""
    url = os.environ.get(name, "")
    if url and url.partition("://")[0] not in BROKERS:
        raise ImproperlyConfigured(f"{name} does not begin with {', '.join(f'{kind}://' for kind in BROKERS)}.")
    return url
