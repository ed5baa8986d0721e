"""What a gaze or gesture claim states in the proof evaluator's terms, read from an English clause with printed tags.

Only where tags hold the roles: the subject is a tag (or taken over from the clause before: "Person 1 turns and looks at
Person 2"), and whoever it is done to is a tag. A pronoun or a description gives no statement.
"""

from __future__ import annotations

import re

from ml.evidence.package import LOOKED_AT, LOOKER, Statement
from ml.social.event import CAPTURE, FOLLOWING, JOINT, MUTUAL, SHIFT
from ml.text import phrases

_NO_TARGET = re.compile(
    r"\b(?:away\s+from|past|instead\s+of|rather\s+than|next\s+to|beside|behind|near|"
    r"in\s+front\s+of|(?:looks?|points?)\s+like)\s*$",
    re.IGNORECASE,
)
_AT = re.compile(
    r"\b(?:at|to|toward|towards|into|on|watch(?:es|ed|ing)?|for|gives?|gave|giving|shows?|showed|showing|"
    r"hands?|handed|handing|offers?|offered|offering|with|meets?)"
    r"\s+(?:the\s+|directly\s+)?$",
    re.IGNORECASE,
)
# words by which what is named is not, or not surely, done; such a clause states nothing that marks could bear out
_VERBS = r"fail|refus|attempt|pretend|want|intend|declin|hesitat|forget|tr"
_NOT_DONE = re.compile(
    r"\bavoid(?:s|ed|ing)?\b|\b(?:almost|nearly)\s+[a-z]+(?:s|ed)\b|\b(?:about|going)\s+to\b|"
    rf"\b(?:{_VERBS})(?:e|y|s|es|ies|ed|ied)?\s+to\b|\b(?:is|are|was|were|been)\s+(?:{_VERBS})(?:y|t)?ing\s+to\b",
    re.IGNORECASE,
)


def statement(
    clause: str, type: str, subject: tuple[int, ...], targets: tuple[int, ...], target_lead: str
) -> Statement | None:
    """The statement of a gaze or gesture clause. `subject`: tags before its verb; `targets`: the tags right after it,
    `target_lead`: the words between verb and them."""
    if _NOT_DONE.search(clause):
        return None
    if type == "gaze":
        return _gaze(clause, subject, targets, target_lead)
    if type == "gesture":
        return _gesture(clause, subject, targets, target_lead)
    return None


def _gaze(clause: str, subject: tuple[int, ...], targets: tuple[int, ...], lead: str) -> Statement | None:
    named = phrases.gaze_types(clause)
    everybody = tuple(dict.fromkeys((*subject, *targets)))
    if MUTUAL in named:
        return _members((MUTUAL,), everybody)
    if FOLLOWING in named:
        if len(subject) == 1 and len(targets) == 1 and subject != targets:
            return Statement("gaze", (FOLLOWING,), (("follower", subject[0]), ("leader", targets[0])))
        return None
    if JOINT in named:
        return _members((JOINT,), everybody)
    if CAPTURE in named:
        return None
    if (
        len(subject) == 1
        and len(targets) == 1
        and subject != targets
        and _AT.search(lead)
        and not _NO_TARGET.search(lead)
    ):
        return Statement("gaze", (), ((LOOKER, subject[0]), (LOOKED_AT, targets[0])))
    if SHIFT in named and len(subject) == 1 and not targets:
        return Statement("gaze", (SHIFT,), (("person", subject[0]),))
    return None


def _members(types: tuple[str, ...], persons: tuple[int, ...]) -> Statement | None:
    return Statement("gaze", types, tuple(("member", person) for person in persons)) if len(persons) > 1 else None


def _gesture(clause: str, subject: tuple[int, ...], targets: tuple[int, ...], lead: str) -> Statement | None:
    types = tuple(sorted(phrases.gesture_types(clause)))
    if len(types) != 1 or len(subject) != 1:
        return None
    roles = [("initiator", subject[0])]
    if len(targets) == 1 and targets != subject:
        if not _AT.search(lead) or _NO_TARGET.search(lead):
            return None
        roles.append(("target", targets[0]))
    elif targets:
        return None
    return Statement("gesture", types, tuple(roles))
