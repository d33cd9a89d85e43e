"""``python -m scripts.messages``: write the catalogues. With ``--check`` nothing is written, and it fails if one is not
in step with the sources.
"""

from __future__ import annotations

import argparse
import os
import sys

import django

from scripts.messages import catalogues
from scripts.messages.extract import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    changed = catalogues.out_of_step()
    for path, content in changed.items():
        print(path.relative_to(ROOT))
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
