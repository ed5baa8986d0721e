"""The social graph as a networkx multigraph, and as GraphML.

Nodes: `person <id>` with kind, person; `<event id>` with kind, source, type, start_s, end_s, confidence, description,
the frames where known, and the event's own attributes. Edges carry `kind` (participates, overlaps, adjacent,
shares_person, before) and what belongs to it: role, seconds, gap_s, or persons (ids joined by spaces).
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from ml.social.graph.model import GraphEvent, SocialGraph, in_order

if TYPE_CHECKING:
    import networkx

PLAIN = (str, bool, int, float)


def to_networkx(graph: SocialGraph) -> networkx.MultiDiGraph:
    """The whole graph; nodes and edges in a fixed order."""
    import networkx

    result = networkx.MultiDiGraph(preset=graph.preset)
    result.add_nodes_from((_person(person), {"kind": "person", "person": person}) for person in graph.persons)
    result.add_nodes_from((event.id, _event(event)) for event in graph.events)
    ids = [event.id for event in graph.events]
    for event in graph.events:
        result.add_edges_from((_person(p), event.id, {"kind": "participates", "role": r}) for p, r in event.roles)
    result.add_edges_from(_linked(graph, ids))
    result.add_edges_from((ids[a], ids[b], {"kind": "before"}) for a, b in graph.before.tolist())
    return result


def to_graphml(graph: SocialGraph) -> bytes:
    """The GraphML file, UTF-8. Characters that XML cannot hold are left out of descriptions."""
    import networkx

    target = io.BytesIO()
    networkx.write_graphml_xml(to_networkx(graph), target)
    return target.getvalue()


def _person(person: str) -> str:
    return f"person {person}"


def _event(event: GraphEvent) -> dict[str, Any]:
    frames = {} if event.start is None else {"start": event.start, "end": event.end}
    found = {
        "kind": "event",
        "source": event.source,
        "type": event.type,
        "start_s": float(event.start_s),
        "end_s": float(event.end_s),
        "confidence": float(event.confidence),
        "description": event.description,
        **frames,
        **{key: value for key, value in event.attributes.items() if isinstance(value, PLAIN)},
    }
    return {key: legible(value) if isinstance(value, str) else value for key, value in found.items()}


def legible(text: str) -> str:
    """Without the control characters and half characters that no XML document may hold."""
    return "".join(
        c
        for c in text
        if c in "\t\n\r" or (c >= " " and not "\ud800" <= c <= "\udfff" and c < "\ufffe" or c > "\uffff")
    )


def _linked(graph: SocialGraph, ids: list[str]) -> list[tuple[str, str, dict[str, Any]]]:
    links, edges = graph.links, []
    columns = (links.gaze, links.gesture, links.overlap, links.seconds, links.shared)
    for gaze, gesture, overlap, seconds, shared in zip(*(column.tolist() for column in columns), strict=True):
        a, b = ids[gaze], ids[gesture]
        measure = {"kind": "overlaps", "seconds": seconds} if overlap else {"kind": "adjacent", "gap_s": seconds}
        edges.append((a, b, measure))
        if shared:
            persons = in_order(set(graph.events[gaze].persons & graph.events[gesture].persons))
            edges.append((a, b, {"kind": "shares_person", "persons": " ".join(persons)}))
    return edges
