"""The people by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest


@pytest.fixture
def project(people: SimpleNamespace) -> Any:
    return people.one


@pytest.fixture
def bob(people: SimpleNamespace) -> Any:
    return people.bob


@pytest.fixture
def rita(people: SimpleNamespace) -> Any:
    return people.rita
