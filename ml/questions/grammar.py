"""The expressions of a proof: a small typed tree, written in JSON as lists whose first entry is the word.

Selections, each a set of events:
  ["events", {"modality": M, "type": T | [T..], "roles": {ROLE: ID | [ID..]}, "during": [a, b)}]
        marked events of modality M (gaze, gesture; required). All other fields are optional: of one of these types;
        with all these persons in that role (ROLE "person": in any); sharing a frame with [a, b)
  ["event", ID]               that very event, which the question describes beyond doubt
  ["event", ID, {"type": T, "roles": {ROLE: [ID..]}, "span": [a, b)}]
        likewise, as long as it is marked exactly so: for questions that print its times and persons
  ["either", A, B]            events of A and events of B
  ["overlapping", A, B]       events of A that share a frame with another event, one of B
  ["after", A, B, S]          events of A that start after another event, one of B, has ended, at most S seconds later
                              (null: any time later)
  ["first", A], ["last", A]   the event of A that starts earliest, latest (all of them where several tie)
  ["longest", A]              the event of A that lasts longest (likewise)
Reductions, each a value:
  ["who", A, ROLE]            persons in that role in an event of A (ROLE "person": in any)      -> persons
  ["others", [ID..], A]       those of the listed persons who are in no event of A               -> persons
  ["most", A, ROLE]           the one person who is in that role in most events of A             -> persons
  ["most", A, "type"]         the one type most events of A have                                 -> types
  ["type", A]                 types of the events of A                                           -> types
  ["count", A]                how many events A has                                              -> count
  ["duration_s", A]           seconds in which an event of A goes on                             -> seconds
  ["order", A, B]             all of A ends before any of B starts, the reverse, some overlap    -> order
  ["exists", A]               whether A has an event                                             -> yes/no
  ["is", EXPR, VALUE]         whether the value is right for the expression                      -> yes/no

What a VALUE says of an expression of each kind:
  persons   "ID": is among them; ["ID"..]: they are exactly these; null: there is nobody
  types     "mutual_gaze": is among them; [..]: they are exactly these; null: there is none
  count     whole number
  seconds   number: rounds to it at one decimal; {"seconds": x, "within": w}: at most w away from x
  order     "before" (A first), "after", "overlap"; null: A or B has no event
  yes/no    true, false
  any       {"claim": EXPR}: this yes/no expression holds, whatever is asked
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ml.formats.jsonfields import fail
from ml.social.event import GESTURES, TYPES

ROLES = ("member", "leader", "follower", "initiator", "target", "person")
ORDERS = ("before", "after", "overlap")
MODALITIES = {"gaze": TYPES, "gesture": GESTURES}
KNOWN_TYPES = (*TYPES, *GESTURES)
DEEPEST = 12

Kind = Literal["persons", "types", "count", "seconds", "order", "yes_no"]


@dataclass(frozen=True, slots=True)
class Events:
    """`roles` pairs a role with a person who must have it; `types` empty: any."""

    modality: str
    types: tuple[str, ...] = ()
    roles: tuple[tuple[str, str], ...] = ()
    during: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class One:
    """`marked`: type, sorted roles and span with which it must be marked still."""

    id: str
    marked: tuple[str, tuple[tuple[str, str], ...], tuple[int, int]] | None = None


@dataclass(frozen=True, slots=True)
class Either:
    a: Selection
    b: Selection


@dataclass(frozen=True, slots=True)
class Overlapping:
    a: Selection
    b: Selection


@dataclass(frozen=True, slots=True)
class After:
    a: Selection
    b: Selection
    within_s: float | None


@dataclass(frozen=True, slots=True)
class Extreme:
    """first, last or longest."""

    word: str
    a: Selection


Selection = Events | One | Either | Overlapping | After | Extreme


@dataclass(frozen=True, slots=True)
class Reduction:
    """`word` over `a` (and `b` for order); `by` a role or "type" for who and most; `persons` for others."""

    word: str
    a: Selection
    b: Selection | None = None
    by: str = ""
    persons: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        if self.word == "most":
            return "types" if self.by == "type" else "persons"
        return _KINDS[self.word]


@dataclass(frozen=True, slots=True)
class Is:
    expr: Expr
    value: Value

    @property
    def kind(self) -> Kind:
        return "yes_no"


Expr = Reduction | Is


@dataclass(frozen=True, slots=True)
class Near:
    """A number of seconds, give or take."""

    seconds: float
    within: float


@dataclass(frozen=True, slots=True)
class Claim:
    expr: Expr


Value = str | tuple[str, ...] | int | bool | None | Near | Claim

_KINDS: dict[str, Kind] = {
    "who": "persons",
    "others": "persons",
    "type": "types",
    "count": "count",
    "duration_s": "seconds",
    "order": "order",
    "exists": "yes_no",
}
_ROUNDING = 0.05  # half of the last decimal that questions print


def expr(tree: Any, place: str = "ask", depth: int = 0) -> Expr:
    """The expression a JSON tree stands for. Raises FormatError naming the place."""
    word, args = _call(tree, place, depth)
    if word == "is":
        _arity(tree, place, 2)
        inner = expr(args[0], f"{place}[1]", depth + 1)
        return Is(inner, value(args[1], inner.kind, f"{place}[2]", depth + 1))
    if word == "order":
        _arity(tree, place, 2)
        a, b = (selection(arg, f"{place}[{i}]", depth + 1) for i, arg in enumerate(args, 1))
        return Reduction(word, a, b)
    if word == "others":
        _arity(tree, place, 2)
        return Reduction(word, selection(args[1], f"{place}[2]", depth + 1), persons=_ids(args[0], f"{place}[1]"))
    if word in ("who", "most"):
        _arity(tree, place, 2)
        allowed = ROLES if word == "who" else (*ROLES, "type")
        return Reduction(
            word, selection(args[0], f"{place}[1]", depth + 1), by=_one_of(args[1], allowed, f"{place}[2]")
        )
    if word in _KINDS:
        _arity(tree, place, 1)
        return Reduction(word, selection(args[0], f"{place}[1]", depth + 1))
    raise fail(f"{place}[0]", "a reduction (who, others, most, type, count, duration_s, order, exists, is)", word)


def selection(tree: Any, place: str, depth: int = 0) -> Selection:
    """The selection a JSON tree stands for. Raises FormatError naming the place."""
    word, args = _call(tree, place, depth)
    if word == "events":
        _arity(tree, place, 1)
        return _events(args[0], f"{place}[1]")
    if word == "event":
        _arity(tree, place, 2 if len(args) == 2 else 1)
        return One(_text(args[0], f"{place}[1]"), _marked(args[1], f"{place}[2]") if len(args) == 2 else None)
    if word in ("first", "last", "longest"):
        _arity(tree, place, 1)
        return Extreme(word, selection(args[0], f"{place}[1]", depth + 1))
    if word in ("either", "overlapping", "after"):
        _arity(tree, place, 3 if word == "after" else 2)
        a, b = (selection(arg, f"{place}[{i}]", depth + 1) for i, arg in enumerate(args[:2], 1))
        if word == "after":
            return After(a, b, _within(args[2], f"{place}[3]"))
        return Either(a, b) if word == "either" else Overlapping(a, b)
    raise fail(f"{place}[0]", "a selection (events, event, either, overlapping, after, first, last, longest)", word)


def value(tree: Any, kind: Kind, place: str, depth: int = 0) -> Value:
    """The value a JSON tree stands for, where the expression is of that kind. Raises FormatError naming the place."""
    if isinstance(tree, Mapping) and set(tree) == {"claim"}:
        claimed = expr(tree["claim"], f"{place}.claim", depth + 1)
        if claimed.kind != "yes_no":
            raise fail(f"{place}.claim", "a yes/no expression", tree["claim"])
        return Claim(claimed)
    return _VALUES[kind](tree, place)


def _persons(tree: Any, place: str) -> Value:
    if tree is None:
        return None
    return tuple(sorted(_ids(tree, place))) if isinstance(tree, list) else _text(tree, place)


def _types(tree: Any, place: str) -> Value:
    if tree is None:
        return None
    if isinstance(tree, list):
        return tuple(sorted({_one_of(one, KNOWN_TYPES, f"{place}[{i}]") for i, one in enumerate(tree)}))
    return _one_of(tree, KNOWN_TYPES, place)


def _count(tree: Any, place: str) -> Value:
    if isinstance(tree, bool) or not isinstance(tree, int) or not 0 <= tree < 10**9:
        raise fail(place, "a whole number of events", tree)
    return tree


def _seconds(tree: Any, place: str) -> Value:
    if isinstance(tree, Mapping):
        if set(tree) != {"seconds", "within"}:
            raise fail(place, 'an object of "seconds" and "within"', dict(tree))
        return Near(_number(tree["seconds"], f"{place}.seconds"), _number(tree["within"], f"{place}.within"))
    return Near(_number(tree, place), _ROUNDING)


def _order(tree: Any, place: str) -> Value:
    return None if tree is None else _one_of(tree, ORDERS, place)


def _yes_no(tree: Any, place: str) -> Value:
    if not isinstance(tree, bool):
        raise fail(place, "true or false", tree)
    return tree


_VALUES: dict[Kind, Callable[[Any, str], Value]] = {
    "persons": _persons,
    "types": _types,
    "count": _count,
    "seconds": _seconds,
    "order": _order,
    "yes_no": _yes_no,
}


def _events(tree: Any, place: str) -> Events:
    if not isinstance(tree, Mapping):
        raise fail(place, "an object", tree)
    unknown = sorted(set(tree) - {"modality", "type", "roles", "during"})
    if unknown:
        raise fail(place, "only modality, type, roles and during", unknown[0])
    modality = _one_of(tree.get("modality"), tuple(MODALITIES), f"{place}.modality")
    types = tree.get("type")
    listed = [] if types is None else types if isinstance(types, list) else [types]
    return Events(
        modality,
        tuple(_one_of(one, MODALITIES[modality], f"{place}.type") for one in listed),
        _roles(tree.get("roles") or {}, f"{place}.roles"),
        None if tree.get("during") is None else span(tree["during"], f"{place}.during"),
    )


def _marked(tree: Any, place: str) -> tuple[str, tuple[tuple[str, str], ...], tuple[int, int]]:
    if not isinstance(tree, Mapping) or set(tree) != {"type", "roles", "span"}:
        raise fail(place, "an object of type, roles and span", tree)
    type = _one_of(tree["type"], KNOWN_TYPES, f"{place}.type")
    return type, _roles(tree["roles"], f"{place}.roles"), span(tree["span"], f"{place}.span")


def _roles(tree: Any, place: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(tree, Mapping):
        raise fail(place, "an object from role to persons", tree)
    pairs = []
    for role, persons in tree.items():
        _one_of(role, ROLES, place)
        ids = persons if isinstance(persons, list) else [persons]
        pairs += [(role, person) for person in _ids(ids, f"{place}.{role}")]
    return tuple(sorted(set(pairs)))


def span(tree: Any, place: str) -> tuple[int, int]:
    """A half-open span of frames, not empty."""
    whole = isinstance(tree, list) and len(tree) == 2 and all(type(one) is int for one in tree)
    if not whole or not 0 <= tree[0] < tree[1] < 10**9:
        raise fail(place, "[first frame, frame after the last]", tree)
    return tree[0], tree[1]


def _within(tree: Any, place: str) -> float | None:
    return None if tree is None else _number(tree, place)


def _number(tree: Any, place: str) -> float:
    if isinstance(tree, bool) or not isinstance(tree, int | float) or not 0 <= tree < 1e9:
        raise fail(place, "a number of seconds, 0 or more", tree)
    return float(tree)


def _text(tree: Any, place: str) -> str:
    if not isinstance(tree, str) or not tree or len(tree) > 100:
        raise fail(place, "an id", tree)
    return tree


def _ids(tree: Any, place: str) -> tuple[str, ...]:
    if not isinstance(tree, list):
        raise fail(place, "a list of person ids", tree)
    return tuple(dict.fromkeys(_text(one, f"{place}[{i}]") for i, one in enumerate(tree)))


def _one_of(tree: Any, allowed: tuple[str, ...], place: str) -> str:
    if not isinstance(tree, str) or tree not in allowed:
        raise fail(place, f"one of {', '.join(allowed)}", tree)
    return tree


def _call(tree: Any, place: str, depth: int) -> tuple[str, list[Any]]:
    if not isinstance(tree, list) or not tree or not isinstance(tree[0], str):
        raise fail(place, "a list that begins with a word", tree)
    if depth > DEEPEST:
        raise fail(place, f"at most {DEEPEST} expressions inside each other", "more")
    return tree[0], tree[1:]


def _arity(tree: list[Any], place: str, count: int) -> None:
    if len(tree) != count + 1:
        raise fail(place, f"{count} argument{'s' * (count != 1)} of {tree[0]}", len(tree) - 1)
