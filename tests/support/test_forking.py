"""A fork of the loaded process ends as a Python of its own would, though it frees nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.process import clean_env, fork_server, run

ENDS = {
    "at its last line": "print('said', end='')",
    "with a number": "import sys; print('said', end=''); sys.exit(3)",
    "without a number": "import sys; print('said', end=''); sys.exit()",
    "with words": "import sys; print('said', end=''); sys.exit('words')",
    "with an exception": "print('said', end=''); raise ValueError('words')",
    "with what it registered": "import atexit; atexit.register(print, 'at the end'); print('said', end='')",
    "with a thread": (
        "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), print('of the thread'))).start()\n"
        "print('said', end='')"
    ),
}


@pytest.mark.parametrize("source", ENDS.values(), ids=ENDS)
def test_a_fork_ends_as_a_python_of_its_own(tmp_path: Path, source: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(source)
    command = [sys.executable, str(program)]
    forked = run(command, clean_env(), fork_server())
    alone = subprocess.run(command, env=clean_env(), capture_output=True, text=True, check=False)
    assert (forked.returncode, forked.stdout) == (alone.returncode, alone.stdout)
    # The lines of a traceback above those of the program are the server's.
    assert forked.stderr.splitlines()[-1:] == alone.stderr.splitlines()[-1:]
    assert "said" in forked.stdout
