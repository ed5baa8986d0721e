"""The one error of this package."""

from __future__ import annotations


class MediaError(ValueError):
    """A video cannot be used; the message is one plain sentence for the person who brought it."""
