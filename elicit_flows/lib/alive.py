"""A health check for processes that answer no requests: they touch a file, and the check looks at its age.

``python -m elicit_flows.lib.alive`` is the check. It starts in milliseconds; asking Celery takes seconds.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

NAME = "ELICIT_ALIVE_FILE"
# A Celery worker touches the file every 2 seconds, beat every 5. More time is allowed for a busy machine, or if Redis
# is unavailable for a moment.
LATE = 60.0  # seconds

log = logging.getLogger(__name__)


def touch(path: str | None) -> None:
    """Record that the process works. If the file cannot be written, the process continues, and the check fails."""
    if path:
        try:
            Path(path).touch()
        except OSError as error:
            log.warning("%s: %s cannot be touched (%s)", NAME, path, error.strerror)


def main() -> int:
    """Return 0 if the file is fresh; else print a sentence and return 1."""
    path = os.environ.get(NAME)
    if not path:
        print(f"{NAME} is not set.")
        return 1
    try:
        age = time.time() - Path(path).stat().st_mtime
    except OSError as error:
        print(f"{path}: {error.strerror}.")
        return 1
    if age > LATE:
        print(f"{path} was touched {age:.0f} seconds ago.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
