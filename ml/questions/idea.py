"""What a template proposes, before it is proven: a question, what it asks of the facts, and answers to choose from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ml.questions.facts import Event, Span
from ml.questions.scene import Scene


@dataclass(frozen=True, slots=True)
class Choice:
    """A possible answer: its text with slots, its value, and how plausible it is as a wrong one (0: most)."""

    text: str
    value: Any
    rank: int = 1


@dataclass
class Idea:
    """`wordings`: ways to ask, with slots, of which one is drawn. `ask`: the expression (JSON). `choices`: the key is
    whichever proves true. `several`: more than one choice may be true, one of which becomes the key; else the idea is
    given up. `span`: what the clip must show. `about`: persons the question names. `sentences`: of an open item, each
    with what it claims. `whole`: all choices are options.
    """

    wordings: list[str]
    ask: list[Any]
    choices: list[Choice]
    span: Span
    about: tuple[str, ...] = ()
    several: bool = False
    whole: bool = False
    sentences: list[tuple[str, list[list[Any]]]] = field(default_factory=list)
    kind: str = "single"


def that(event: Event) -> list[Any]:
    """The very event, marked as it is now: for questions whose text prints its times and persons."""
    roles: dict[str, list[str]] = {}
    for person, role in sorted(event.roles):
        roles.setdefault(role, []).append(person)
    return ["event", event.id, {"type": event.type, "roles": roles, "span": [event.start, event.end]}]


def with_alike(event: Event, alike: list[Any]) -> list[Any]:
    """The very event and what else of `alike` goes on at the same time, for words that fit them all: when somebody
    joins two who look at the same thing, all of it together tells how long they do."""
    return ["either", that(event), ["overlapping", alike, that(event)]]


Maker = Callable[[Scene], Iterator[Idea]]


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    category: str
    kind: str
    make: Maker


REGISTRY: dict[str, Template] = {}


def template(category: str, kind: str = "single") -> Callable[[Maker], Maker]:
    """Register a template under its function's name; `kind` is that of all its ideas."""

    def register(function: Maker) -> Maker:
        name = function.__name__
        assert name not in REGISTRY
        REGISTRY[name] = Template(name, category, kind, function)
        return function

    return register
