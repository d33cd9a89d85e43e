"""The settings of the test process itself: nothing of the developer's environment, nothing under var/.

TEST_SHAPE=full runs the in-process tests on PostgreSQL and Redis; otherwise they run on SQLite.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import django

from tests.support.ports import free_port

FULL = os.environ.get("TEST_SHAPE", "embedded") == "full"
_OURS = ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL", "SECRET_KEY", "SECRET_KEY_FALLBACKS", "ELICIT_")
HOME = Path(tempfile.mkdtemp(prefix="elicit-tests-"))
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
# Where the shared servers will be, where Django wants to know before any test has run. Otherwise they choose when they
# start: until then another program might take the port.
POSTGRES_PORT, REDIS_PORT = (free_port(), free_port()) if FULL else (None, None)


def prepare() -> None:
    """Before anything of ours is imported: Django reads its settings here."""
    for name in list(os.environ):
        if name.removesuffix("_FILE").startswith(_OURS):
            del os.environ[name]
    os.environ.update(
        DJANGO_SETTINGS_MODULE="config.settings",
        DATABASE_URL=f"sqlite:///{HOME}/elicit.sqlite3",
        ELICIT_VAULT_KEYS="k1:" + "A" * 43 + "=",
        SECRET_KEY="only for the test process, which keeps nothing",
    )
    if FULL:
        os.environ["DATABASE_URL"] = f"postgres://postgres@127.0.0.1:{POSTGRES_PORT}/elicit"
        os.environ["REDIS_URL"] = f"redis://127.0.0.1:{REDIS_PORT}/0"
    django.setup()
