"""The environment of one process of tests: a data folder of its own, and no word of what the user has set up.

A plugin of pytest (`-p`), so that it comes before Django reads the settings, also where several processes share the
tests and each inherits the environment of the one that started it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

# Not pytest's own temporary folder: PostgreSQL runs as "nobody" under root and must be able to enter
DATA = Path(tempfile.mkdtemp(prefix="sightline-test-"))
DATA.chmod(0o711)
os.environ["SIGHTLINE_DATA"] = str(DATA)
os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
os.environ["SIGHTLINE_DB_POOL"] = "0"  # a pool's idle connections would keep the test database from being dropped
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # Playwright's event loop runs in the thread of the tests
for name in ("DATABASE_URL", "BROKER_URL", "STORAGE_URL", "SIGHTLINE_PRODUCTION"):
    os.environ.pop(name, None)
