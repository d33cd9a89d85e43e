"""The settings of a service in a box: the usual ones, but what time has made due is looked at every second.

A test that waits for a sweep would wait for nothing else meanwhile.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

from config.settings import *  # noqa: F403  all of them
from config.settings import CELERY_BEAT_SCHEDULE as _SCHEDULE
from config.settings import JOB_SECONDS as _USUAL
from config.settings import LOGGING
from elicit_flows.lib import clock, rate_limits, thread_pools

thread_pools.strict = True  # a view that asks outside without saying so fails
# One box serves many tests within a minute, and each looks for its own lines.
LOGGING["handlers"]["stderr"]["burst"] = 10_000  # type: ignore[index]
# They come from one address, and more than 120 of them sign in within a minute.
rate_limits.SIGN_INS = replace(rate_limits.SIGN_INS, most=2_000)


class _Ahead:
    """A clock that is ahead by as many seconds as the file ``TEST_CLOCK_FILE`` says at this moment, for everything in
    the process that asks for the time.
    """

    file = Path(os.environ.get("TEST_CLOCK_FILE", ""))
    real = time.time

    @classmethod
    def by(cls) -> float:
        return float(cls.file.read_text() or "0")

    @classmethod
    def time(cls) -> float:
        return cls.real() + cls.by()

    @classmethod
    def now(cls, zone: tzinfo | None = None) -> datetime:
        return datetime.now(zone) + timedelta(seconds=cls.by())


if "TEST_CLOCK_FILE" in os.environ:
    time.time = _Ahead.time
    setattr(clock, "datetime", _Ahead)  # noqa: B010  a module of ours, in a process that is a test's

SWEEP_SECONDS = 2.0
JOB_SECONDS = {name: seconds if seconds > 60 else SWEEP_SECONDS for name, seconds in _USUAL.items()}
CELERY_BEAT_SCHEDULE = {name: entry | {"schedule": JOB_SECONDS[name]} for name, entry in _SCHEDULE.items()}
