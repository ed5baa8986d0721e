"""The command line of `ml.social.events`: a GRASP gaze file in, its events file out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ml.formats import grasp_events, grasp_gaze
from ml.formats.errors import FormatError
from ml.formats.plainfile import read_file, write_file
from ml.social.events import detect
from ml.social.grasp import ASSUMED_ASPECT, events_file, scene_of
from ml.social.presets import PRESETS, GraspCompat


def main(arguments: Sequence[str]) -> int:
    """Run; 0 when the events file is written, 2 with one sentence on stderr when the input is bad."""
    options = _parser().parse_args(arguments)
    try:
        count = run(options.input, options.output, options.preset, options.min_confidence)
    except FormatError as error:
        print(f"{options.input}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename or options.input}: {error.strerror or error}.", file=sys.stderr)
        return 2
    print(f"{count} event{'' if count == 1 else 's'} written to {options.output}")
    return 0


def run(source: Path, target: Path, preset: str, min_confidence: float | None) -> int:
    """Write the events of one gaze file; the number of events. The target appears complete or not at all."""
    rules = PRESETS[preset]
    gaze = grasp_gaze.parse(read_file(source))
    if gaze.width is None and not isinstance(rules, GraspCompat):
        print("note: the file has no width and height, so the picture is taken as 16:9.", file=sys.stderr)
    scene = scene_of(gaze)
    events = detect(scene, rules, min_confidence)
    extra = {
        "preset": preset,
        "min_confidence": rules.min_confidence if min_confidence is None else min_confidence,
        "aspect": gaze.width / gaze.height if gaze.width and gaze.height else ASSUMED_ASPECT,
        "parameters": asdict(rules),
    }
    tree = grasp_events.build(events_file(gaze, events, extra, inclusive=isinstance(rules, GraspCompat)))
    write_file(target, (json.dumps(tree, indent=1, allow_nan=False) + "\n").encode())
    return len(events)


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, found {text}")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ml.social.events",
        description="Find social gaze events in a GRASP gaze JSON (gaps are filled) and write a GRASP events JSON.",
        epilog="The gaze file's head may also hold width and height (pixels; 16:9 is assumed without them, only strict "
        "uses them) and shots ([start, end) frames; events never cross their borders).",
    )
    parser.add_argument("input", type=Path, metavar="IN.json", help="gaze file")
    parser.add_argument("output", type=Path, metavar="OUT.json", help="events file to write")
    parser.add_argument("--preset", choices=sorted(PRESETS), default="strict", help="rules to use (default: strict)")
    parser.add_argument(
        "--min-confidence",
        type=_share,
        metavar="C",
        help="leave out events below this confidence (default: 0 for both presets; GRASP's questions use 0.9)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
