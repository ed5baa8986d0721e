"""What makes a question well-formed, one sentence per fault. Whether its proof stands is another matter (`proving`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from ml.formats.errors import FormatError
from ml.questions.slots import frames_in, persons_in
from ml.questions.taxonomy import CATEGORIES
from webapp.bench.models import KINDS, Question
from webapp.events.services import storable
from webapp.lib.errors import Refused
from webapp.library.models import Video

MOST_TEXT = 4000
MOST_OPTIONS = len(ascii_lowercase)
CHOOSES = ("single", "multiple", "yes_no")  # kinds that are answered by picking options

Option = dict[str, Any]


def check_question(question: Question, video: Video, persons: Mapping[str, Any]) -> None:
    """Raises Refused with the first fault. `persons`: by id, everybody of the video."""
    if not isinstance(question.category, str) or question.category not in CATEGORIES:
        raise Refused(f"There is no category {question.category!r}.", "category")
    if question.kind not in KINDS:
        raise Refused(f"There is no kind {question.kind!r}; there is: {', '.join(KINDS)}.", "kind")
    if not 0 <= question.start < question.end <= video.frames:
        raise Refused(f"The span [{question.start}, {question.end}) does not lie in the video.", "start")
    _text(question.text, "text", video, persons)
    _text(question.reasoning, "reasoning", video, persons, needed=False, most=8 * MOST_TEXT)
    if question.kind in CHOOSES:
        check_options(question.options, question.kind, video, persons)
        check_picks(question.key, question.options, question.kind, "key")
    else:
        if question.options != []:
            raise Refused(f"A question of the kind {question.kind} has no options: an empty list.", "options")
        if question.kind == "number":
            number_of(question.key, "key")
        else:
            _text(_single(question.key, "key"), "key", video, persons)
    if question.proof is not None:
        _check_proof(question)


def _text(
    text: Any, name: str, video: Video, persons: Mapping[str, Any], *, needed: bool = True, most: int = MOST_TEXT
) -> None:
    if not isinstance(text, str) or len(text) > most or not storable(text):
        raise Refused(f"'{name}' must be text of at most {most} characters.", name)
    if needed and not text.strip():
        raise Refused(f"'{name}' is empty.", name)
    try:
        people, frames = persons_in(text), frames_in(text)
    except FormatError as error:
        raise Refused(str(error), name) from error
    for person in people:
        if person not in persons:
            raise Refused(f"'{name}' names a person ({person}) who is not in this video.", name)
    for frame in frames:
        if frame > video.frames:
            raise Refused(f"'{name}' names frame {frame}, behind the video's {video.frames} frames.", name)


def check_options(options: Any, kind: str, video: Video, persons: Mapping[str, Any]) -> None:
    """Options are [{"id", "text", "value"}]: at least two (yes_no: exactly two), with ids and texts of their own."""
    if not isinstance(options, list) or not all(isinstance(each, dict) for each in options):
        raise Refused("'options' must be a list of {id, text, value}.", "options")
    if not 2 <= len(options) <= MOST_OPTIONS or (kind == "yes_no" and len(options) != 2):
        wanted = "exactly two" if kind == "yes_no" else f"between 2 and {MOST_OPTIONS}"
        raise Refused(f"A question of the kind {kind} needs {wanted} options, not {len(options)}.", "options")
    for option in options:
        if not isinstance(option.get("id"), str) or not 0 < len(option["id"]) <= 40 or not storable(option["id"]):
            raise Refused("Every option needs an id, a short word.", "options")
        _text(option.get("text"), "options", video, persons)
    for told, values in (
        ("id", [option["id"] for option in options]),
        ("text", [option["text"].strip().casefold() for option in options]),
    ):
        if len(set(values)) < len(values):
            raise Refused(f"Two options have the same {told}.", "options")


def check_picks(picks: Any, options: Sequence[Option], kind: str, name: str) -> list[str]:
    """Picked option ids: one for single and yes_no, one or more for multiple; in the order of the options."""
    ids = [option["id"] for option in options]
    if not isinstance(picks, list | tuple) or not all(isinstance(pick, str) and pick in ids for pick in picks):
        raise Refused(f"'{name}' must be a list of option ids.", name)
    if len(set(picks)) < len(picks) or not picks or (kind != "multiple" and len(picks) != 1):
        raise Refused(f"'{name}' names {'at least one option' if kind == 'multiple' else 'exactly one option'}.", name)
    return sorted(picks, key=ids.index)


def _single(values: Any, name: str) -> Any:
    if not isinstance(values, list | tuple) or len(values) != 1:
        raise Refused(f"'{name}' must be a list of one value.", name)
    return values[0]


def number_of(values: Any, name: str) -> float:
    """The number of [number]; finite."""
    value = _single(values, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e12:  # nor is NaN
        raise Refused(f"'{name}' must be a number between -1e12 and 1e12.", name)
    return float(value)


def text_of(values: Any, name: str) -> str:
    """The text of [text], as somebody wrote it."""
    value = _single(values, name)
    if not isinstance(value, str) or not value.strip() or len(value) > MOST_TEXT or not storable(value):
        raise Refused(f"'{name}' must be text of at most {MOST_TEXT} characters.", name)
    return value.strip()


def _check_proof(question: Question) -> None:
    from ml.questions.proof import parse

    proof = question.proof
    try:
        parse(proof)
    except FormatError as error:
        raise Refused(f"The proof cannot be read: {error}", "proof") from error
    assert proof is not None
    if question.kind not in CHOOSES:
        return
    said = [(option.get("id"), option.get("value")) for option in proof.get("options", [])]
    has = [(option["id"], option.get("value")) for option in question.options]
    if said != has:
        raise Refused("The proof is about other options than the question has; take it away or make it fit.", "proof")
    if sorted(proof.get("key", [])) != sorted(question.key):
        raise Refused("The proof gives another key than the question has; take it away or make it fit.", "proof")


def letter_of(question: Question) -> str:
    """The key's place among the options as stored, "A" first; "" unless the key is one option."""
    if question.kind not in ("single", "yes_no") or len(question.key) != 1:
        return ""
    ids = [option["id"] for option in question.options]
    return ascii_uppercase[ids.index(question.key[0])]


def lettered(options: Any, key: Any, proof: Any, kind: str) -> tuple[list[Option], list[Any], dict[str, Any] | None]:
    """Options with the ids a, b, c, ... by position, key and proof likewise: so an id tells nothing of the key.

    Raises Refused where these are not of the right shape.
    """
    if not isinstance(options, list) or not all(isinstance(o, dict) and "id" in o for o in options):
        raise Refused("'options' must be a list of {id, text, value}.", "options")
    if not isinstance(key, list) or not (proof is None or isinstance(proof, dict)):
        raise Refused("'key' is a list, 'proof' an object or nothing.", "key")
    if len(options) > MOST_OPTIONS:
        raise Refused(f"At most {MOST_OPTIONS} options.", "options")
    ids = {str(option["id"]): ascii_lowercase[place] for place, option in enumerate(options)}
    if len(ids) < len(options):
        raise Refused("Two options have the same id.", "options")
    new = [{"id": ids[str(o["id"])], "text": o.get("text"), "value": o.get("value")} for o in options]
    if kind not in CHOOSES:
        return new, key, proof
    return new, [_renamed(pick, ids, "key") for pick in key], proof and _proof_renamed(proof, ids)


def _renamed(pick: Any, ids: Mapping[str, str], name: str) -> str:
    if str(pick) not in ids:
        raise Refused(f"'{name}' must be a list of option ids.", name)
    return ids[str(pick)]


def _proof_renamed(proof: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    told = dict(proof)
    if isinstance(told.get("options"), list) and isinstance(told.get("key"), list):  # else it cannot be read anyway
        told["options"] = [each | {"id": _renamed(each.get("id"), ids, "proof")} for each in told["options"]]
        told["key"] = [_renamed(pick, ids, "proof") for pick in told["key"]]
    return told
