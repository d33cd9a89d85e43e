"""The settings of a service in a box: the usual ones, but what time has made due is looked at every second.

A test that waits for a sweep would wait for nothing else meanwhile.
"""

from __future__ import annotations

from config.settings import *  # noqa: F403  all of them
from config.settings import CELERY_BEAT_SCHEDULE as _SCHEDULE
from config.settings import SWEEP_SECONDS as _USUAL

SWEEP_SECONDS = 1.0
CELERY_BEAT_SCHEDULE = {
    name: entry | {"schedule": SWEEP_SECONDS if entry["schedule"] == _USUAL else entry["schedule"]}
    for name, entry in _SCHEDULE.items()
}
