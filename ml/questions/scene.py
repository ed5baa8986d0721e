"""The facts as templates look at them: events by kind in a drawn order, windows to ask about, people to name."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from random import Random

import numpy as np
from numpy.typing import NDArray

from ml.questions.facts import Event, Facts, Span

ELSEWHERE = 0.35  # of the events are also asked about in a window drawn by chance
PRINTED_S = 0.1  # questions print times to a tenth of a second: a window's edge may be off by half of it


def most_frames(seconds: NDArray[np.float64], length: float) -> int:
    """The most frames that so many seconds hold anywhere in the video: a margin of as many is never shorter than that,
    whatever the rate does. `seconds` float64[N + 1], frame times.
    """
    reached = np.searchsorted(seconds, seconds + length - 1e-6)
    inside = reached < len(seconds)  # stretches that end within the video
    return int((reached - np.arange(len(seconds)))[inside].max(initial=0))


class Scene:
    """One video with one source of chance; everything drawn comes from `rng`, so the same seed gives the same."""

    def __init__(self, facts: Facts, rng: Random) -> None:
        self.facts, self.rng = facts, rng
        self.margin = max(facts.step, most_frames(facts.seconds, PRINTED_S))
        frame_s = float(facts.seconds[-1] - facts.seconds[0]) / max(facts.frames, 1)
        self.second = max(1, round(1.0 / frame_s)) if frame_s else 1  # frames, on average: to draw windows by
        self.people = [person.id for person in facts.persons]
        self._visible = {person.id: person.visible for person in facts.persons}
        self._sorted = sorted(facts.events, key=lambda event: (event.start, event.end, event.id))
        self._starts = [event.start for event in self._sorted]
        self._ends = list(accumulate((event.end for event in self._sorted), max))  # the latest end so far

    def events(self, modality: str, *types: str) -> list[Event]:
        """Events of the modality (of these types), shuffled."""
        found = [e for e in self._sorted if e.modality == modality and (not types or e.type in types)]
        self.rng.shuffle(found)
        return found

    def inside(self, window: Span, modality: str | None = None) -> list[Event]:
        """Events (of the modality) that share a frame with the window, by start."""
        near = self._sorted[bisect_right(self._ends, window[0]) : bisect_left(self._starts, window[1])]
        return [e for e in near if e.end > window[0] and modality in (None, e.modality)]

    def shot(self, frame: int) -> Span:
        """The shot that holds the frame."""
        cuts = sorted({0, *self.facts.cuts, self.facts.frames})
        at = bisect_right(cuts, frame)
        return cuts[at - 1], cuts[min(at, len(cuts) - 1)]

    def later(self, frame: int, seconds: float) -> int:
        """The first frame that begins so many seconds after this one, or the end of the video; beyond it, where the
        video is over before. By the frames' own times: a rate may vary."""
        times = self.facts.seconds
        return int(times.searchsorted(times[frame] + seconds - 1e-6))

    def after(self, event: Event, seconds: int) -> Span | None:
        """What a clip must show to tell what comes within some seconds; None where the video or the shot is over."""
        until = self.later(event.end, seconds + 1)
        return (event.start, until) if until <= self.shot(event.start)[1] else None

    def around(self, *events: Event, pad: int | None = None) -> Span:
        """A window that surely holds some of every event: its hull, padded where an event is short, inside its shot.

        `pad` frames on either side; drawn where not given.
        """
        start, end = min(event.start for event in events), max(event.end for event in events)
        short = min(event.end - event.start for event in events) <= self.margin + 1
        least = self.margin + 1 if short else 0
        extra = self.rng.choice((0, 0, self.margin, 2 * self.margin)) if pad is None else pad
        low, high = self.shot(start)[0], self.shot(end - 1)[1]
        return max(low, start - max(least, extra)), min(high, end + max(least, extra))

    def asked(self, events: Sequence[Event]) -> Iterator[tuple[Event, Span, bool]]:
        """Each event with a window around it; now and then also with one drawn from its shot, where it need not be.

        The last says whether the window is around the event: without such windows "no one" would never be right.
        """
        for event in events:
            yield event, self.around(event), True
            low, high = self.shot(event.start)
            length = max(event.end - event.start, 2 * self.second)
            if self.rng.random() < ELSEWHERE and high - low > 2 * length:
                start = self.rng.randrange(low, high - length)
                yield event, (start, start + length), False

    def visible(self, window: Span) -> list[str]:
        """Persons who are in the picture at some time of the window, in the order of their numbers."""
        return [id for id in self.people if any(a < window[1] and window[0] < b for a, b in self._visible[id])]

    def sees(self, window: Span, persons: Iterable[str]) -> bool:
        """Whether all these persons are in the picture at some time of the window."""
        return set(persons) <= set(self.visible(window))

    def shuffled(self, things: Sequence[str]) -> list[str]:
        return self.rng.sample(list(things), len(things))

    def windows(self, least: int, *modalities: str) -> list[Span]:
        """Stretches of a shot with at least so many events of the modalities, at most 40 seconds long; drawn.

        Their edges keep a margin from every such event, and no two share more than half of their time.
        """
        events = [event for event in self._sorted if event.modality in modalities]
        ended = list(accumulate((event.end for event in events), max, initial=-(10**9)))  # before each event
        starts = [*(event.start for event in events), 10**9]
        found: list[Span] = []
        for first, one in enumerate(events):
            low, high = self.shot(one.start)
            start, end = max(low, one.start - 2 * self.margin), one.end
            if ended[first] > start - self.margin:
                continue  # an earlier event runs into it
            for last in range(first, min(first + 12, len(events))):
                end = max(end, events[last].end)
                window = (start, min(high, end + 2 * self.margin))
                if events[last].start >= high or window[1] - start > 40 * self.second:
                    break
                if last - first + 1 >= least and starts[last + 1] >= window[1] + self.margin:
                    found.append(window)
        return self._apart(self.rng.sample(found, len(found)))

    def _apart(self, windows: list[Span]) -> list[Span]:
        kept: list[Span] = []
        for a, b in windows:
            if all(min(b, d) - max(a, c) <= 0.5 * min(b - a, d - c) for c, d in kept):
                kept.append((a, b))
        return kept
