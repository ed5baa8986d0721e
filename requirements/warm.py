"""Write the byte code of what the programs load: `python requirements/warm.py [run] [dev]`.

The installation leaves it out, since compiling everything takes longer than installing it, and most is never loaded.
Loading the entry points once, in two processes, compiles exactly what they need, and shows at once a package that
cannot be loaded on this machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
LOADS = {
    "run": (
        "import workers.app, webapp.asgi, webapp.studio.web, webapp.studio.management.commands.demo;"
        "import celery.bin.celery, celery.bin.worker, celery.concurrency.prefork, uvicorn.lifespan.off;"
        "import uvicorn.protocols.http.httptools_impl, uvicorn.loops.uvloop, uvicorn.protocols.websockets.auto;"
        "workers.app.app.loader.import_default_modules()",
        "import ml.media.importer, ml.media.demo_clip, ml.perception.pipeline, ml.weights.convert, ml.social.display",
    ),
    "dev": ("import pytest, pytest_django.plugin, pytest_timeout, xdist.plugin, hypothesis, playwright.sync_api",),
}


def main(names: list[str]) -> int:
    with tempfile.TemporaryDirectory() as data:
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        for name in ("DATABASE_URL", "BROKER_URL", "STORAGE_URL", "SIGHTLINE_PRODUCTION"):
            env.pop(name, None)
        env |= {"SIGHTLINE_DATA": data, "DJANGO_SETTINGS_MODULE": "webapp.settings", "PYTHONWARNINGS": "ignore"}
        running = [
            subprocess.Popen([sys.executable, "-c", load], cwd=HERE, env=env) for name in names for load in LOADS[name]
        ]
        return max(process.wait() for process in running)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["run"]))
