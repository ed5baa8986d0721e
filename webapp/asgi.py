"""ASGI entry point: `uvicorn webapp.asgi:application`."""

from __future__ import annotations

import os

import django

from webapp.lib.handler import OneHopHandler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
os.environ.setdefault("SIGHTLINE_DB_POOL", "16")
os.environ.setdefault("SIGHTLINE_LOCK_WAIT", "5")
django.setup(set_prefix=False)
application = OneHopHandler()
