"""Alembic's migrations: one module for each schema, numbered; the archive runs what it lacks."""

__all__: list[str] = []
