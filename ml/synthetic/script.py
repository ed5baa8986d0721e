"""A stage on which people look and gesture: the few verbs a scene is written with.

Every verb takes spans as frames [start, end) and fills the arrays of `Truth`; it refuses (returns False) where one of
its persons is not visible or already busy there, so whatever order the verbs come in, no event breaks another. Two
lanes per person are kept apart: the eyes and the hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ml.synthetic.truth import HANDS, Place, Truth

SHORTEST_S = 0.5  # of an event: what is shorter is refused, as where the end of the scene would cut it


class Stage:
    """A scene that is being written. `gap_s`: seconds kept free between two things one person does."""

    def __init__(
        self,
        seconds: NDArray[np.float64],
        ids: Sequence[str],
        numbers: Sequence[int],
        *,
        cuts: Sequence[int] = (0,),
        gap_s: float = 0.4,
    ) -> None:
        frames, persons = len(seconds) - 1, len(ids)
        self.seconds, self.ids, self.numbers, self.cuts = seconds, tuple(ids), tuple(numbers), tuple(cuts)
        self.gap = max(1, round(gap_s * frames / (seconds[-1] - seconds[0])))
        self.places: list[Place] = []
        self.captures = 0
        shape = (frames, persons)
        self.look, self.follow, self.capture, self.reach = (np.full(shape, -1, np.int16) for _ in range(4))
        self.hand = np.full(shape, -1, np.int8)
        self.shift = np.zeros(shape, bool)
        self.visible = np.ones(shape, bool)
        self.eyes_busy, self.hand_busy = np.zeros(shape, bool), np.zeros(shape, bool)
        for cut in self.cuts[1:]:  # everybody rests around a cut, so nothing crosses it
            around = slice(max(0, cut - self.gap), cut + self.gap)
            self.eyes_busy[around] = self.hand_busy[around] = True

    @property
    def frames(self) -> int:
        return len(self.seconds) - 1

    @property
    def persons(self) -> int:
        return len(self.ids)

    def truth(self) -> Truth:
        return Truth(
            seconds=self.seconds,
            ids=self.ids,
            numbers=self.numbers,
            places=tuple(self.places),
            look=self.look,
            follow=self.follow,
            capture=self.capture,
            shift=self.shift,
            hand=self.hand,
            reach=self.reach,
            visible=self.visible,
            cuts=self.cuts,
        )

    def at(self, second: float) -> int:
        """The frame shown at `second`."""
        return int(np.clip(np.searchsorted(self.seconds, second, side="right") - 1, 0, self.frames))

    def add_place(self, kind: str, description: str) -> int:
        """A new place; returns its target code."""
        self.places.append(Place(kind, description))
        return self.persons + len(self.places) - 1

    def hide(self, person: int, start: int, end: int) -> None:
        """That person is not in the picture over [start, end); call this before anything happens."""
        self.visible[start:end, person] = False
        out = slice(max(0, start - self.gap), end + self.gap)
        self.eyes_busy[out, person] = self.hand_busy[out, person] = True

    def free(self, persons: Iterable[int], start: int, end: int, *, hands: bool = False) -> bool:
        """Whether all those persons have nothing else to do, nor just before or after."""
        busy = self.hand_busy if hands else self.eyes_busy
        if start < 0 or end > self.frames or start >= end:
            return False
        around = slice(max(0, start - self.gap), end + self.gap)
        return not busy[around, list(persons)].any()

    def lasts(self, start: int, end: int) -> bool:
        """Whether that is long enough for an event."""
        return 0 <= start < end <= self.frames and bool(self.seconds[end] - self.seconds[start] >= SHORTEST_S)

    def unseen(self, code: int, start: int, end: int) -> bool:
        """Whether nobody looks at `code`: a second look would be joint attention."""
        return not (self.look[start:end] == code).any()

    # -- eyes ----------------------------------------------------------------------------------------------------------

    def stare(self, person: int, code: int, start: int, end: int) -> bool:
        """One person looks at something, alone and unanswered."""
        answered = code < self.persons and bool((self.look[start:end, max(code, 0)] == person).any())
        if answered or not self.free([person], start, end) or not self.unseen(code, start, end):
            return False
        self._look(person, code, start, end)
        return True

    def meet(self, a: int, b: int, start: int, end: int) -> bool:
        """Mutual gaze."""
        alone = self.unseen(a, start, end) and self.unseen(b, start, end)
        if not alone or not self.lasts(start, end) or not self.free([a, b], start, end):
            return False
        self._look(a, b, start, end)
        self._look(b, a, start, end)
        return True

    def attend(self, persons: Sequence[int], code: int, start: int, end: int) -> bool:
        """Joint attention to a place, or to a person who looks elsewhere."""
        watched = [code] if code < self.persons else []
        if not self.lasts(start, end) or not self.unseen(code, start, end):
            return False
        if not self.free([*persons, *watched], start, end):
            return False
        for person in persons:
            self._look(person, code, start, end)
        for person in watched:
            self.eyes_busy[start:end, person] = True
        return True

    def lead(self, leader: int, follower: int, code: int, start: int, arrival: int, leave: int, end: int) -> bool:
        """The leader looks at a place over [start, leave), the follower arrives later and stays until `end`.

        Following is the span [start, arrival); both look at the place over [arrival, leave), if that is not empty.
        """
        if not (start < arrival <= leave <= end) or not self.unseen(code, start, end):
            return False
        if not self.lasts(start, arrival) or not (leave == arrival or self.lasts(arrival, leave)):
            return False
        if not self.free([leader, follower], start, end):
            return False
        self._look(leader, code, start, leave)
        self._look(follower, code, arrival, end)
        self.eyes_busy[start:end, [leader, follower]] = True
        self.follow[start:arrival, follower] = leader
        return True

    def catch(self, persons: Sequence[int], code: int, start: int, caught: int, end: int) -> bool:
        """Attention capture over [start, caught): all turn to one place at once; they look at it until `end`."""
        if len(persons) < 3 or not self.lasts(start, caught) or not self.lasts(caught, end):
            return False
        if not self.unseen(code, start, end):
            return False
        if not self.free(persons, start, end):
            return False
        self.capture[start:caught, list(persons)] = self.captures
        self.captures += 1
        for person in persons:
            self.eyes_busy[start:end, person] = True
            self.look[caught:end, person] = code
        return True

    def jump(self, person: int, start: int, end: int) -> bool:
        """A sudden gaze shift: the look sweeps over the picture, at nothing in particular."""
        if not self.lasts(start, end) or not self.free([person], start, end):
            return False
        self.shift[start:end, person] = True
        self.eyes_busy[start:end, person] = True
        return True

    # -- hands ---------------------------------------------------------------------------------------------------------

    def gesture(self, kind: str, person: int, code: int, start: int, end: int) -> bool:
        """Pointing, showing, giving or reaching, to a person or a place. The target must be in the picture."""
        if not self.lasts(start, end) or not self.free([person], start, end, hands=True) or code == person:
            return False
        if code < self.persons and not self.visible[start:end, code].all():
            return False
        self.hand[start:end, person] = HANDS.index(kind)
        self.reach[start:end, person] = code
        self.hand_busy[start:end, person] = True
        return True

    def _look(self, person: int, code: int, start: int, end: int) -> None:
        self.look[start:end, person] = code
        self.eyes_busy[start:end, person] = True
