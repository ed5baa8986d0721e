"""`python -m ml.evaluation.run` with a model of weights that is none: it says B and notes what it is asked.

    python -m tests.workers.scripted_evaluation --model FOLDER ..

FOLDER/seconds says how long an item takes; FOLDER/asked grows by the id of every item that is asked; FOLDER/cut, where
it is there, ends the process at its second item as the kernel does when memory runs out.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from ml.evaluation import run
from ml.evaluation.bench import Item
from ml.evaluation.models import Reply


class Scripted:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def describe(self) -> dict[str, Any]:
        return {"kind": "folder", "name": self.folder.name, "fingerprint": "ab" * 32}

    def answer(self, item: Item) -> Reply:
        asked = self.folder / "asked"
        with asked.open("a") as file:
            file.write(f"{item.id}\n")
        if (self.folder / "cut").exists() and len(asked.read_text().splitlines()) > 1:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(float((self.folder / "seconds").read_text()))
        return Reply(item.id, "<think>x</think><answer>B</answer>", frames=2, finish="stop")

    def close(self) -> None:
        pass


if __name__ == "__main__":
    setattr(run, "open_model", lambda name, asking: Scripted(Path(name)))  # noqa: B010
    sys.exit(run.main())
