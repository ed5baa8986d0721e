from __future__ import annotations

from django.apps import AppConfig


class LibraryConfig(AppConfig):
    name = "webapp.library"
    label = "library"

    def ready(self) -> None:
        from webapp.jobs.services import follow
        from webapp.library.services import follow_import

        follow("import", follow_import)
