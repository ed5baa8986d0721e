"""The one error every file format raises."""

from __future__ import annotations


class FormatError(ValueError):
    """A file does not follow its format. The message is one plain sentence that names the place and the cause."""
