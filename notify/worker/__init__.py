"""A Celery worker for exactly one queue, that cannot lose a message or sit idle unseen."""

from notify.worker.run import run_worker

__all__ = ["run_worker"]
