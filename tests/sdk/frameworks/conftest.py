from __future__ import annotations

from tests.release.conftest import installed, wheel

__all__ = ["installed", "wheel"]
