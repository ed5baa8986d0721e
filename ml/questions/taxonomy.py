"""The 16 categories of GRASP by slug, and the three schemes that number them differently.

A slug is what is stored. Codes are labels of a named scheme, for import and export only: `data` (released JSON,
generator, metric script), `figure` (the paper's taxonomy figure), `page` (the name list of the project page). Joint
codes are stored as C1-C4 in the data scheme and reported as J1-J4. Difficulty is a fixed function of the code, so it
depends on the scheme; the page prints none. Source: GRASP (arXiv 2605.15764), its released files, figure and page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scheme = Literal["data", "figure", "page"]
SCHEMES: tuple[Scheme, ...] = ("data", "figure", "page")


@dataclass(frozen=True, slots=True)
class Category:
    slug: str
    group: str  # gaze, gesture or joint
    words: str
    data: str
    figure: str
    page: str
    difficulty: str  # by data code
    figure_difficulty: str
    open_ended: bool = False

    def code(self, scheme: Scheme) -> str:
        return {"data": self.data, "figure": self.figure, "page": self.page}[scheme]


_ROWS = (
    ("gaze_target", "gaze", "Gaze target", "T1", "T1", "T1", "easy", "easy"),
    ("gaze_event_type", "gaze", "Gaze event type", "T2", "T2", "T2", "easy", "easy"),
    ("temporal_gaze", "gaze", "Temporal gaze", "T3", "T5", "T5", "medium", "hard"),
    ("mutual_gaze", "gaze", "Mutual gaze", "T4", "T3", "T3", "medium", "medium"),
    ("gaze_following", "gaze", "Gaze following", "T5", "T4", "T4", "hard", "medium"),
    ("group_attention", "gaze", "Group attention", "T6", "T6", "T6", "hard", "hard"),
    ("gesture_recog", "gesture", "Gesture recognition", "G1", "G1", "G1", "easy", "easy"),
    ("gesture_type", "gesture", "Gesture type", "G2", "G2", "G2", "easy", "easy"),
    ("gesture_temporal", "gesture", "Gesture timing", "G3", "G3", "G3", "medium", "medium"),
    ("gesture_frequency", "gesture", "Gesture frequency", "G4", "G5", "G5", "medium", "hard"),
    ("gesture_sequence", "gesture", "Gesture sequence", "G5", "G6", "G6", "hard", "hard"),
    ("reciprocal_gesture", "gesture", "Reciprocal gesture", "G6", "G4", "G4", "hard", "medium"),
    ("gaze_gesture_align", "joint", "Gaze and gesture alignment", "C1", "J1", "J1", "medium", "medium"),
    ("eye_contact_in_interaction", "joint", "Eye contact in an interaction", "C2", "J3", "J2", "medium", "hard"),
    ("gaze_response_to_gesture", "joint", "Gaze response to a gesture", "C3", "J2", "J3", "hard", "medium"),
    ("cross_modal_dynamics", "joint", "Cross-modal dynamics", "C4", "J4", "J4", "hard", "hard"),
)
_OPEN = {"T6", "G5", "C3", "C4"}  # data codes that have open-ended items
CATEGORIES: dict[str, Category] = {row[0]: Category(*row, open_ended=row[3] in _OPEN) for row in _ROWS}
