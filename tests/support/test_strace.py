"""Whether a process that is being killed still counts as alive."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from tests.support.strace import alive

HOLDS_A_LOT = "held = b'x' * 400_000_000; print('ready', flush=True); input()"  # so much takes its time to be let go


def test_a_process_that_was_killed_is_dead_though_it_takes_its_time_to_go() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_LOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        assert alive(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        assert not alive(process.pid)
    assert not alive(process.pid)
