"""YAML as cards and task files use it: one plain tree, written in one way, read without running anything.

Reading refuses what a tree of plain values cannot hold: aliases that make a small file huge, tags, dates, keys that are
no text. Needs PyYAML, imported where it is used.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ml.formats.errors import FormatError

if TYPE_CHECKING:
    import yaml

DEEPEST = 40
MOST_NODES = 100_000
FUNCTION = "!function"


class Function(str):
    """A name of a function, written with the tag !function (lmms-eval)."""


def dump(tree: Any) -> str:
    """The tree as block YAML: keys in their order, text as it is, no line folding."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    Dumper.add_representer(Function, lambda dumper, value: dumper.represent_scalar(FUNCTION, str(value)))
    return str(
        yaml.dump(tree, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=10**6, default_flow_style=False)
    )


def load(text: str, *, functions: bool = False) -> Any:
    """The tree of one YAML document; with `functions`, !function scalars become `Function`. Raises FormatError."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    if functions:
        Loader.add_constructor(FUNCTION, _function)
    try:
        _count(yaml.parse(text, Loader=Loader))
        tree = yaml.load(text, Loader=Loader)  # a SafeLoader with one more tag, which makes text
    except FormatError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise FormatError(
            f"{where}not valid YAML ({_line(error.problem or error.context or 'unreadable')})."
        ) from error
    except yaml.YAMLError as error:
        raise FormatError(f"not valid YAML ({_line(str(error))}).") from error
    except (ValueError, RecursionError, OverflowError, TypeError) as error:
        raise FormatError("not valid YAML: it holds a value that cannot be read.") from error
    return _plain(tree, "the file", 0)


def _line(words: str) -> str:
    return " ".join(words.split())[:120].rstrip(".")


def _function(loader: yaml.SafeLoader, node: Any) -> Function:
    return Function(loader.construct_scalar(node))


def _count(events: Any) -> None:
    """Stop before an alias or a flood of nodes makes a tree of it."""
    import yaml

    depth = 0
    for number, event in enumerate(events):
        if isinstance(event, yaml.AliasEvent):
            mark, name = event.start_mark, event.anchor or ""
            line = mark.line + 1 if mark else 0
            raise FormatError(f"line {line}: an alias (*{name[:40]}) is not read here; write the value out.")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST or number > MOST_NODES:
            raise FormatError("The YAML is nested too deeply, or too long, to be read.")


def _plain(value: Any, place: str, depth: int) -> Any:
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise FormatError(f"{place}: a key must be text, not {str(key)[:40]!r}.")
        return {key: _plain(item, f"{place}.{key}" if depth else key, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, f"{place}[{at}]", depth + 1) for at, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise FormatError(f"{place}: expected a finite number.")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise FormatError(f"{place}: expected text, a number, a list or a mapping, found a {type(value).__name__}.")
