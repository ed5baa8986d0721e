"""What makes an event well formed: which roles a type takes, and where a span may lie."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from webapp.events.models import GAZE_TYPES, GESTURE_TYPES
from webapp.lib.errors import Refused

MANY = 1000


@dataclass(frozen=True)
class RoleCount:
    role: str
    least: int
    most: int


ROLE_TABLE: dict[str, tuple[RoleCount, ...]] = {
    "mutual_gaze": (RoleCount("member", 2, 2),),
    "joint_attention": (RoleCount("member", 2, MANY), RoleCount("target", 0, 1)),
    "gaze_following": (RoleCount("leader", 1, 1), RoleCount("follower", 1, MANY)),
    "attention_capture": (RoleCount("member", 2, MANY), RoleCount("target", 0, 1)),
    "sudden_gaze_shift": (RoleCount("member", 1, 1),),
    **{gesture: (RoleCount("initiator", 1, 1), RoleCount("target", 0, 1)) for gesture in GESTURE_TYPES},
}


def words(type: str) -> str:
    return type.replace("_", " ")


def modality_of(type: str) -> str:
    if type in GAZE_TYPES:
        return "gaze"
    if type in GESTURE_TYPES:
        return "gesture"
    raise Refused(f"{type!r} is not a type of event.", "type")


def check_roles(type: str, participants: list[tuple[str, str]]) -> None:
    """Raises Refused when the roles (person, role) do not fit the type."""
    if len({person for person, _ in participants}) < len(participants):
        raise Refused("A person can have one role in an event, not two.", "participants")
    allowed = {count.role: count for count in ROLE_TABLE[type]}
    for _, role in participants:
        if role not in allowed:
            raise Refused(f"{words(type).capitalize()} has no role {role!r}.", "participants")
    for role, count in allowed.items():
        number = sum(r == role for _, r in participants)
        if number < count.least or number > count.most:
            need = f"{count.least}" if count.least == count.most else f"at least {count.least}"
            need = need if number < count.least or count.least == count.most else f"at most {count.most}"
            raise Refused(f"{words(type).capitalize()} needs {need} {role}, not {number}.", "participants")


def check_span(start: int, end: int, frames: int, shots: list[int]) -> None:
    """Raises Refused unless [start, end) lies in the video and inside one shot. `shots`: first frame of each."""
    if not 0 <= start < end:
        raise Refused(f"The span [{start}, {end}) is empty or starts before the video.", "start")
    if end > frames:
        raise Refused(f"The span ends at frame {end}, but the video has {frames} frames.", "end")
    following = bisect_right(shots, start)
    if following < len(shots) and end > shots[following]:
        raise Refused(f"An event may not cross the cut at frame {shots[following]}.", "end")
