"""Where the endpoint is and what it may cost, from the environment; never from anything a user typed.

SIGHTLINE_ENDPOINT_URL        address up to and with /v1, such as https://example.org/v1
SIGHTLINE_ENDPOINT_MODEL      name of the model
SIGHTLINE_ENDPOINT_KEY        key, where the endpoint asks for one
SIGHTLINE_ENDPOINT_PRICE_IN   price of a million tokens sent, in any currency; without prices no cost is counted
SIGHTLINE_ENDPOINT_PRICE_OUT  price of a million tokens received
SIGHTLINE_ENDPOINT_RATE       requests per minute at most, for each process that asks (default 30)
SIGHTLINE_ENDPOINT_TIMEOUT    seconds for one request (default 180)
SIGHTLINE_ENDPOINT_ATTEMPTS   how often one request is tried (default 6)
SIGHTLINE_ENDPOINT_EXTRA      JSON object laid over every request's body; null takes a field out, for servers that
                              know a field by another name: {"max_tokens": null, "max_completion_tokens": 4096}
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

PREFIX = "SIGHTLINE_ENDPOINT_"


class EndpointError(Exception):
    """The endpoint could not do what was asked; the message is one sentence, without the key."""


class NotConfigured(EndpointError, ValueError):
    """No endpoint is set up here, or its configuration is wrong."""


class BrokenReply(EndpointError):
    """The endpoint answered, twice, with something that is not what was asked for. `raw`: what it wrote last."""

    raw: str = ""


@dataclass(frozen=True)
class Config:
    """One endpoint. `price_in`, `price_out`: per million tokens; waits in seconds.

    A failed request is tried again after a random wait of at most `first_wait_s`, doubled each time up to
    `longest_wait_s`. A server that names a wait (Retry-After) gets it, unless it is longer than `patience_s`.
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    price_in: float | None = None
    price_out: float | None = None
    per_minute: float = 30.0
    timeout_s: float = 180.0
    attempts: int = 6
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    patience_s: float = 600.0
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def told_extra(self) -> dict[str, Any]:
        """What of `extra` may be kept with results, since a value may be a secret: its field names, and a hash that
        tells two of them apart.
        """
        if not self.extra:
            return {}
        text = json.dumps(self.extra, sort_keys=True, separators=(",", ":"))
        return {"fields": sorted(self.extra), "sha256": hashlib.sha256(text.encode()).hexdigest()}

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Config:
        """The endpoint this installation names. Raises NotConfigured, one sentence that names the variable."""
        found = os.environ if environ is None else environ
        read = {name: found.get(PREFIX + name, "").strip() for name in NAMES}
        if not read["URL"] or not read["MODEL"]:
            missing = " and ".join(PREFIX + name for name in ("URL", "MODEL") if not read[name])
            verb = "are" if " and " in missing else "is"
            raise NotConfigured(
                f"No multimodal endpoint is set up here: {missing} {verb} missing from the environment."
            )
        return cls(
            url=_address(read["URL"]),
            model=read["MODEL"],
            key=_key(read["KEY"]),
            price_in=_number("PRICE_IN", read, None, least=0),
            price_out=_number("PRICE_OUT", read, None, least=0),
            per_minute=_number("RATE", read, 30.0, above=0) or 30.0,
            timeout_s=_number("TIMEOUT", read, 180.0, above=0) or 180.0,
            attempts=int(_number("ATTEMPTS", read, 6, least=1) or 6),
            extra=_extra(read["EXTRA"]),
        )


NAMES = ("URL", "MODEL", "KEY", "PRICE_IN", "PRICE_OUT", "RATE", "TIMEOUT", "ATTEMPTS", "EXTRA")


def _address(url: str) -> str:
    """The address without a slash at its end; it is printed in errors, so it must hold no secret."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    if not sound:
        raise NotConfigured(f"{PREFIX}URL is not an address such as https://example.org/v1.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise NotConfigured(f"{PREFIX}URL must be a plain address; a key belongs into {PREFIX}KEY.")
    return url.rstrip("/")


def _key(key: str) -> str:
    if not key.isascii() or not key.isprintable():
        raise NotConfigured(f"{PREFIX}KEY holds characters that no key has.")
    return key


def _number(
    name: str, read: Mapping[str, str], default: float | None, *, least: float = 0, above: float | None = None
) -> float | None:
    text = read[name]
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value < float("inf") or (above is not None and value <= above):
        bound = f"above {above:g}" if above is not None else f"from {least:g} on"
        raise NotConfigured(f"{PREFIX}{name} must be a number {bound}, not {text!r}.")
    return value


def _extra(text: str) -> dict[str, Any]:
    try:
        extra = json.loads(text) if text else {}
    except ValueError:
        extra = None
    if not isinstance(extra, dict):
        raise NotConfigured(f"{PREFIX}EXTRA must be a JSON object.")
    return extra
