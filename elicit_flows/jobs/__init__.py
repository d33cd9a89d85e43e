"""Background work: the worker and its jobs, Celery's tasks, the purge, and the stored metrics."""
