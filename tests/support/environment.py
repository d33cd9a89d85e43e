"""The settings of the test process itself: nothing of the developer's environment, nothing under var/.

TEST_SHAPE=full runs the in-process tests on PostgreSQL and Redis; otherwise they run on SQLite.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import django
from django.conf import settings

from tests.support.ports import free_port
from tests.support.process import RUN
from tests.support.services import REDIS_DATABASES

FULL = os.environ.get("TEST_SHAPE", "embedded") == "full"
_OURS = ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL", "SECRET_KEY", "SECRET_KEY_FALLBACKS", "ELICIT_")


def _chosen(server: str) -> int:
    return int(os.environ.setdefault(f"TEST_{server}_PORT", str(free_port())))


HOME = Path(tempfile.mkdtemp(prefix="elicit-tests-", dir=RUN))
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
# Where the shared servers will be, where Django wants to know before any test has run. Otherwise they choose when they
# start: until then another program might take the port.
# The process that leads the run chooses for all of its workers.
POSTGRES_PORT, REDIS_PORT = (_chosen("POSTGRES"), _chosen("REDIS")) if FULL else (None, None)


def _redis_database() -> int:
    """One for each worker, behind those that the tests are given."""
    return REDIS_DATABASES - 2 - int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or "0")


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
        os.environ["REDIS_URL"] = f"redis://127.0.0.1:{REDIS_PORT}/{_redis_database()}"
    # Where it is installed, jsonschema builds forty grammars at its import, for formats that no schema of ours has.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    django.setup()
    # A client loads the middleware anew, and WhiteNoise would read every static file each time, asked or not.
    settings.WHITENOISE_AUTOREFRESH = True
