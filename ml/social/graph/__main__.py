"""The command line of `ml.social.graph`: a GRASP events file and a gestures file in, their graph file out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ml.formats import grasp_events, grasp_gestures, grasp_graph
from ml.formats.errors import FormatError
from ml.formats.plainfile import read_file, write_file
from ml.social.graph import PRESETS, SocialGraph, build
from ml.social.graph.graphml import to_graphml
from ml.social.graph.grasp import events_of, graph_file, video_name
from ml.social.graph.links import TooDense


class _BadFile(Exception):
    """One sentence that names the file."""


def main(arguments: Sequence[str]) -> int:
    """Run; 0 when the files are written, 2 with one sentence on stderr when the input is bad."""
    options = _parser().parse_args(arguments)
    try:
        graph = run(options.events, options.gestures, options.output, options.preset, options.graphml)
    except _BadFile as error:
        print(error, file=sys.stderr)
        return 2
    except TooDense as error:
        print(f"{options.events}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename or options.output}: {error.strerror or error}.", file=sys.stderr)
        return 2
    print(_told(graph, options.output))
    return 0


def run(events: Path, gestures: Path, output: Path, preset: str, graphml: Path | None = None) -> SocialGraph:
    """Write the graph of two files. Each target appears complete or not at all."""
    gaze, found = _read(events, grasp_events.parse), _read(gestures, grasp_gestures.parse)
    _same_video(events, gaze.video_path, gestures, found.video_path)
    graph = build(events_of(gaze, found), PRESETS[preset])
    tree = grasp_graph.build(graph_file(graph, video_name(gaze.video_path)))
    write_file(output, (json.dumps(tree, indent=1, allow_nan=False) + "\n").encode())
    if graphml is not None:
        write_file(graphml, to_graphml(graph))
    return graph


def _read(path: Path, parse: Callable[[bytes], Any]) -> Any:
    try:
        return parse(read_file(path))
    except FormatError as error:
        raise _BadFile(f"{path}: {error}") from error


def _same_video(events: Path, one: str, gestures: Path, other: str) -> None:
    if video_name(one) != video_name(other):
        print(f"note: {events} is of {one!r}, {gestures} of {other!r}; they are linked all the same.", file=sys.stderr)


def _told(graph: SocialGraph, output: Path) -> str:
    kept, left_out = len(graph.events), graph.num_raw - len(graph.events)
    overlaps = int(graph.links.overlap.sum())
    words = f"{kept} event{'' if kept == 1 else 's'}"
    words += f" ({left_out} left out)" if left_out else ""
    return f"{words}, {overlaps} overlapping and {len(graph.links) - overlaps} adjacent pairs written to {output}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ml.social.graph",
        description="Put a GRASP events JSON and a GRASP gestures JSON on one timeline and link them.",
        epilog="grasp-compat links, filters and caps as released; strict links only events that share a person and "
        "leaves nothing out.",
    )
    parser.add_argument("events", type=Path, metavar="EVENTS.json", help="gaze events file")
    parser.add_argument("gestures", type=Path, metavar="GESTURES.json", help="gestures file")
    parser.add_argument("output", type=Path, metavar="OUT.json", help="graph file to write")
    parser.add_argument("--preset", choices=sorted(PRESETS), default="strict", help="rules to use (default: strict)")
    parser.add_argument("--graphml", type=Path, metavar="FILE", help="also write the graph as GraphML")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
