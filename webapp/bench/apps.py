from __future__ import annotations

from django.apps import AppConfig


class BenchConfig(AppConfig):
    name = "webapp.bench"
    label = "bench"

    def ready(self) -> None:
        from webapp.bench import clips, naming, proving, withdrawal
        from webapp.events import ledger
        from webapp.jobs.queries import name_subjects
        from webapp.jobs.services import follow
        from webapp.library.services import before_erasing

        ledger.follow(proving.doubt)
        before_erasing(withdrawal.scrub)
        follow("clip", clips.follow_clip)
        follow("prove", proving.follow_proofs)
        name_subjects(["release"], naming.releases)
