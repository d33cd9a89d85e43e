"""A small disk of a test's own, which can be full and have room again."""

from __future__ import annotations

import errno
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.left_out import left_out


class Disk:
    """``folder`` is where it is mounted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Not a byte is left."""
        with self._filler.open("ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while file.write(b"\0" * size):
                        pass
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def make_room(self) -> None:
        self._filler.unlink()


@contextmanager
def small_disk(megabytes: int) -> Iterator[Disk]:
    folder = Path(tempfile.mkdtemp(prefix="elicit-disk-"))
    folder.chmod(0o755)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=777", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        folder.rmdir()
        left_out("a disk of its own: run the tests as a user who may mount one (root)")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()
