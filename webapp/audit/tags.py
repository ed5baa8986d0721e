"""Printed tags as an audit keeps them: by their number, however they are written."""

from __future__ import annotations

import re
from typing import Any

from ml.formats.errors import FormatError

NUMBER = re.compile(r"(?<!\d)\d{1,18}(?!\d)")  # Python reads no number of thousands of digits


def tag_of(tag: Any) -> str:
    """The number of a printed tag, as text: "P2", "Person 2" and 2 are "2". Raises FormatError."""
    numbers = NUMBER.findall(str(tag))
    if len(numbers) != 1:
        raise FormatError(f"the tag {tag!r} has no number.")
    return str(int(numbers[0]))
