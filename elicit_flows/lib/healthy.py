"""``python -m elicit_flows.lib.healthy [PATH] [PORT]``: whether the web process of this container answers.

The image has no curl. Only modules that load fast are imported.
"""

from __future__ import annotations

import http.client
import sys
from collections.abc import Sequence

TIMEOUT = 4.0  # seconds


def main(arguments: Sequence[str]) -> int:
    """Return 0 if the status is 200; else print a line and return 1."""
    path, port = (*arguments, *("/livez", "8000")[len(arguments) :])
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=TIMEOUT)
    try:
        connection.request("GET", path)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        print(f"{path}: {type(error).__name__}")
        return 1
    finally:
        connection.close()
    if status != 200:
        print(f"{path}: {status}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
