"""Programs in a few lines that import modules of the package, which Node runs as they are written."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests.sdk.typescript.conftest import PACKAGE
from tests.support import op


def printed(program: str) -> Any:
    """The JSON that the program prints. ``SRC`` in it stands for the folder of the modules."""
    source = program.replace("SRC", str(PACKAGE / "src"))
    command = [str(op.node()), "--experimental-strip-types", "--no-warnings", "--input-type=module", "-e", source]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
