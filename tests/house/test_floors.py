"""No locked dependency is older than the version that fixed a known vulnerability."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The oldest version without the hole, and what the hole was.
FLOORS = {
    "authlib": ((1, 9, 8), "state and algorithm checks that let attackers in"),
    "joserfc": ((1, 8, 0), "algorithm checks"),
    "django": ((5, 2, 14), "the fixes of the 5.2 series"),
    "cryptography": ((50, 0, 0), "OpenSSL's fixes"),
}


def too_old(lock: str) -> list[str]:
    pins = dict(re.findall(r"^([a-z0-9-]+)==([0-9.]+)", lock, re.MULTILINE))
    return [name for name, (floor, _) in FLOORS.items() if tuple(map(int, pins[name].split("."))) < floor]


def test_t118_no_locked_dependency_is_below_its_floor() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        assert too_old((ROOT / name).read_text(encoding="utf-8")) == []


def test_t118_an_old_pin_would_be_noticed() -> None:
    lock = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert too_old(re.sub(r"^authlib==[0-9.]+", "authlib==1.9.7", lock, flags=re.MULTILINE)) == ["authlib"]


def test_the_lock_files_name_no_index_and_hash_everything() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        lock = (ROOT / name).read_text(encoding="utf-8")
        assert not [word for word in ("index-url", "find-links", "://") if word in lock]
        assert len(re.findall(r"^[a-z0-9-]+(?:\[[a-z,]+\])?==", lock, re.MULTILINE)) <= lock.count("--hash=sha256:")
