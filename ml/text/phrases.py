"""Words of the subject: which event types a text names, and which words speculate.

Lists of English words, so heuristics: they say what a text mentions, not what it means.
"""

from __future__ import annotations

import re

# the words GRASP's own validator refuses in an answer, with their plain inflections
SPECULATIVE = re.compile(
    r"\b(?:suggesting|indicating|(?:un)?likely|because|impl(?:y|ies|ied|ying)|emotions?|emotional(?:ly)?|feelings?|"
    r"probabl[ye]|seems?|seemed|seemingly|perhaps|presumably|possibly|maybe)\b",
    re.IGNORECASE,
)
NEGATION = re.compile(r"\b(?:not|no|never|none|neither|nor|without|nobody|except|[a-z]+n['’]t)\b", re.IGNORECASE)

_LOOK = r"(?:look(?:s|ed|ing)?|gaz(?:e|es|ed|ing)|star(?:e|es|ed|ing)|glanc(?:e|es|ed|ing)|watch(?:es|ed|ing)?)"
GAZE_TYPES: dict[str, re.Pattern[str]] = {
    "mutual_gaze": re.compile(
        rf"\b(?:eye[- ]contact|mutual(?:ly)?(?:[- ]gaz\w+)?|{_LOOK}\s+(?:directly\s+)?(?:at|into)\s+(?:each\s+other|"
        r"one\s+another)(?:['’]s\s+eyes)?|each\s+other['’]s\s+(?:eyes|gaze|face))",
        re.IGNORECASE,
    ),
    "joint_attention": re.compile(
        rf"\b(?:joint(?:ly)?(?:\s+attention)?|shar(?:e|es|ed|ing)\s+(?:visual\s+)?(?:attention|focus|gaze)|"
        rf"{_LOOK}\s+(?:together\s+)?(?:at|toward|towards)\s+(?:the\s+)?same\s+\w+|same\s+(?:target|thing|object|spot|"
        r"place|point)|common\s+(?:target|focus))",
        re.IGNORECASE,
    ),
    "gaze_following": re.compile(
        r"\b(?:gaze[- ]following|follow(?:s|ed|ing)?\b[^.?!;]{0,40}?\b(?:gaze|look|line\s+of\s+sight|attention|eyes)|"
        r"follow(?:s|ed|ing)?\s+(?:Person|P)\s*[0-9]+|follower)",
        re.IGNORECASE,
    ),
    "attention_capture": re.compile(
        r"\b(?:attention[- ]captur\w+|captur(?:e|es|ed|ing)\s+(?:the\s+)?(?:\w+\s+)?attention|(?:several|many|multiple|"
        r"three|everyone|all)[^.?!;]{0,40}\b(?:shift|turn)\w*|simultaneous(?:ly)?\s+(?:gaze\s+)?shift\w*|draws?\s+"
        r"(?:the\s+)?(?:\w+\s+)?attention)",
        re.IGNORECASE,
    ),
    "sudden_gaze_shift": re.compile(
        r"\b(?:(?:sudden|abrupt|quick|rapid|fast)(?:ly)?\s+(?:\w+\s+){0,3}?(?:gaze|shift\w*|look\w*|turn\w*|glanc\w+)|"
        r"gaze[- ]shift\w*|shift(?:s|ed|ing)?\s+(?:\w+\s+){0,3}?(?:gaze|eyes|look|attention)|"
        r"quick(?:ly)?\s+chang\w+\s+(?:\w+\s+){0,3}?(?:gaze|look))",
        re.IGNORECASE,
    ),
}
GESTURE_TYPES: dict[str, re.Pattern[str]] = {
    "pointing": re.compile(
        r"\b(?:pointing|points?\s+(?:out|at|to|toward|towards)|pointed|points?\b(?=\s+(?:with|first|next|most|back)))",
        re.IGNORECASE,
    ),
    "showing": re.compile(
        r"\b(?:showing|shows?\s+(?:\w+\s+){0,4}?(?:to|at|back|first|next|most|Person|P[0-9])|showed|shown\s+to|"
        r"shows?\s+(?:an?|the|it|something)\b)",
        re.IGNORECASE,
    ),
    "giving": re.compile(
        r"\b(?:giving|gives?\b|gave|given\s+(?:by|to)|hand(?:s|ed|ing)\s+(?:\w+\s+){0,4}?(?:to|over|Person)|"
        r"offer(?:s|ed|ing)?|pass(?:es|ed|ing)\s+(?:\w+\s+){0,4}?to)",
        re.IGNORECASE,
    ),
    "reaching": re.compile(r"\b(?:reaching|reach(?:es|ed)?)\b", re.IGNORECASE),
}
GAZE_WORD = re.compile(
    rf"\b(?:{_LOOK}|eye[- ]contact|eyes?|attention|attend(?:s|ed|ing)?|line\s+of\s+sight|view(?:s|ed|ing)?\s+at|"
    r"mutual[- ]gaze)\b",
    re.IGNORECASE,
)
GESTURE_WORD = re.compile(
    r"\b(?:gestur(?:e|es|ed|ing)|point(?:s|ed|ing)?\s+(?:out|at|to|toward|towards)|pointing|showing|giving|reaching|"
    r"reach(?:es|ed)?\s+(?:for|out|to|toward|towards)|hand(?:s|ed|ing)?\s+(?:over|[^.?!;]{1,30}?\s+to)|"
    r"gives?\s|gave\s|shows?\s+(?:(?!\w*\s*(?:gaze|attention))[^.?!;]{0,30}?\sto\s)|offers?\s|recipient|initiat(?:or|es)"
    r"|points?(?=\?|,|\s+(?:first|next|back|most|with|and|while|when|before|after)\b)|shows?\s+(?:it|something|an?|the)\b)",
    re.IGNORECASE,
)


def gaze_types(text: str) -> set[str]:
    """Gaze event types the text names in plain words or by identifier."""
    return {name for name, words in GAZE_TYPES.items() if words.search(text.replace("_", " ")) or name in text}


def gesture_types(text: str) -> set[str]:
    """Gesture types the text names."""
    return {name for name, words in GESTURE_TYPES.items() if words.search(text)}


def speculative(text: str) -> list[str]:
    """The speculating words of a text, small, each once."""
    return list(dict.fromkeys(match[0].lower() for match in SPECULATIVE.finditer(text)))
