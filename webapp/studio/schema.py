"""The tables: made at once in an empty database, migrated in any other.

Running every migration from the first takes Django several seconds, nearly all of it spent on rebuilding its picture of
our models. For an empty database the end of the road is known: the tables of today's models and of other packages', the
extensions the migrations ask for, the triggers. All of it, and the note that every migration is applied, is one
transaction. A test compares the result with that of the migrations.
"""

from __future__ import annotations

import pgtrigger
from django.apps import apps
from django.conf import settings
from django.contrib.postgres.operations import CreateExtension
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from pghistory.models import Context

from webapp.studio.errors import StudioError


def bring_up_to_date() -> None:
    """Make or migrate the tables; quick when there is nothing to do. Raises StudioError."""
    try:
        if not connection.introspection.table_names():
            make_fresh()
            return
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", interactive=False, verbosity=0)
    except DatabaseError as error:
        raise StudioError(f"The database cannot be used: {str(error).strip().splitlines()[0]}") from error


@transaction.atomic
def make_fresh() -> None:
    """Everything in an empty database, or nothing when this is interrupted."""
    loader = MigrationLoader(connection)
    with connection.cursor() as cursor:
        for name in extensions(loader):
            cursor.execute(f"CREATE EXTENSION IF NOT EXISTS {connection.ops.quote_name(name)}")
    real = settings.MIGRATION_MODULES
    settings.MIGRATION_MODULES = {config.label: None for config in apps.get_app_configs()}
    try:
        call_command("migrate", run_syncdb=True, interactive=False, verbosity=0)
    finally:
        settings.MIGRATION_MODULES = real
    # what migrations of other packages do besides
    Context.install_pgh_attach_context_func(using=connection.alias)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE auth_group_permissions ALTER COLUMN id TYPE bigint")
    pgtrigger.install()
    recorder = MigrationRecorder(connection)
    recorder.ensure_schema()
    for app, name in loader.graph.nodes.keys() - recorder.applied_migrations().keys():
        recorder.record_applied(app, name)


def extensions(loader: MigrationLoader) -> list[str]:
    """Database extensions that the migrations create."""
    found = [op.name for m in loader.disk_migrations.values() for op in m.operations if isinstance(op, CreateExtension)]
    return list(dict.fromkeys(found))
