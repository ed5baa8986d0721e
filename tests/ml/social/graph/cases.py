"""Short ways to write graph events."""

from __future__ import annotations

from ml.social.graph import GraphEvent


def gaze(
    id: str,
    start: float,
    end: float,
    persons: str = "ab",
    type: str = "mutual_gaze",
    confidence: float = 0.9,
) -> GraphEvent:
    """A gaze event of the persons named by one letter each."""
    roles = tuple((person, "member") for person in persons)
    return GraphEvent(id, "gaze", type, start, end, roles, confidence)


def gesture(
    id: str,
    start: float,
    end: float,
    persons: str = "ab",
    type: str = "pointing",
    confidence: float = 0.9,
) -> GraphEvent:
    """A gesture: the first person is the initiator, a second one the target."""
    roles = tuple(zip(persons, ("initiator", "target"), strict=False))
    return GraphEvent(id, "gesture", type, start, end, roles, confidence)
