from __future__ import annotations

from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "webapp.audit"
    label = "audit"

    def ready(self) -> None:
        from webapp.audit import naming, recording, withdrawal
        from webapp.jobs.queries import name_subjects
        from webapp.jobs.services import follow
        from webapp.library.services import before_erasing

        before_erasing(withdrawal.scrub)
        follow("reprompt", recording.follow_reprompt)
        name_subjects(naming.KINDS, naming.subjects)
