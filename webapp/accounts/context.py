"""What every page's frame needs: theme and, where there is one, the project's rights."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


def place(request: HttpRequest) -> dict[str, Any]:
    user = request.user
    preferences = user.preferences if user.is_authenticated else {}
    return {"theme": preferences.get("theme", "system")}
