"""The social graph of one video: persons and events as nodes, who takes part and how events lie in time as edges.

    python -m ml.social.graph EVENTS.json GESTURES.json OUT.json --preset grasp-compat|strict [--graphml FILE]

reads a GRASP events file and gestures file, and writes the unified timeline with its links (`ml.formats.grasp_graph`)
and, if asked, the whole graph as GraphML.

Edges:

    participates(role)  person -> event
    overlaps(seconds)   gaze event -> gesture: both go on for so long at once
    adjacent(gap)       gaze event -> gesture: they do not overlap, and lie at most 3 s apart
    shares_person       gaze event -> gesture: linked by one of the two above, with a person in both
    before              event -> event: ended when the other begins, with no third event wholly in between (the
                        others follow from these, one step after another)
"""

from __future__ import annotations

from collections.abc import Sequence

from ml.social.graph.filters import filter_events
from ml.social.graph.links import before, find_links
from ml.social.graph.model import GraphEvent, Links, SocialGraph
from ml.social.graph.presets import GRASP_COMPAT, PRESETS, STRICT, GraphPreset

__all__ = ["GRASP_COMPAT", "PRESETS", "STRICT", "GraphEvent", "GraphPreset", "Links", "SocialGraph", "build"]


def build(events: Sequence[GraphEvent], preset: GraphPreset = STRICT) -> SocialGraph:
    """The graph of these events. They come out sorted by start, end, source and id; ids must be unique.

    `grasp-compat` leaves out duplicates and what is over its cap; `strict` keeps every event.
    """
    ordered = sorted(events, key=lambda event: (event.start_s, event.end_s, event.source, event.id))
    kept = filter_events(ordered, preset) if preset.filters else ordered
    return SocialGraph(
        events=kept, links=find_links(kept, preset), before=before(kept), num_raw=len(ordered), preset=preset.name
    )
