"""STORAGE_URL to a Django storage: a folder, or an S3-compatible bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured


def storage_settings(url: str | None, default: Path) -> dict[str, Any]:
    """Entry for STORAGES: `file:///folder`, `s3://bucket/prefix?endpoint=https://host`, or `default` without a URL."""
    if not url:
        return _files(default)
    parts = urlsplit(url)
    if parts.scheme == "file":
        return _files(Path(unquote(parts.path)))
    if parts.scheme == "s3" and parts.netloc:
        options: dict[str, Any] = {
            "bucket_name": parts.netloc,
            "location": parts.path.strip("/"),
            "querystring_auth": True,
            "file_overwrite": True,
        }
        endpoint = parse_qs(parts.query).get("endpoint")
        if endpoint:
            options["endpoint_url"] = endpoint[0]
        return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}
    raise ImproperlyConfigured(f"STORAGE_URL {url!r} is neither file:///folder nor s3://bucket/prefix?endpoint=URL.")


def _files(folder: Path) -> dict[str, Any]:
    return {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(folder), "allow_overwrite": True},
    }
