"""The one kind of result every detector gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SHIFT = "sudden_gaze_shift"
JOINT = "joint_attention"
FOLLOWING = "gaze_following"
CAPTURE = "attention_capture"
MUTUAL = "mutual_gaze"
TYPES = (SHIFT, JOINT, FOLLOWING, CAPTURE, MUTUAL)
GESTURES = ("pointing", "showing", "giving", "reaching")

Roles = tuple[tuple[int, str], ...]


# Not frozen: that would take most of the time it takes to make the thousands of events of a long video.
@dataclass(slots=True)
class SocialEvent:
    """A proposed gaze event.

    `start` and `end` are source frames, half-open, at least one frame; `start_s` and `end_s` are seconds (equal for the
    released rules' events of zero length). `confidence` is in [0, 1]. `roles` pairs a person id with member, leader or
    follower. `details` holds the numbers behind the rule together with the thresholds they were held against; always
    among them `onset_after` and `offset_before`, the frames of the nearest samples on which the event was not seen: the
    true start lies in (onset_after, start], the true end in (last_sample, offset_before].
    """

    type: str
    start: int
    end: int
    start_s: float
    end_s: float
    confidence: float
    roles: Roles
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def persons(self) -> tuple[int, ...]:
        """The persons in the order of their roles."""
        return tuple(person for person, _ in self.roles)


def members(persons: list[int]) -> Roles:
    """Equal parts for all, in the order of ids."""
    return tuple((person, "member") for person in sorted(persons))
