"""Makes the generated parts of the documentation, from the code itself, and builds the site.

``python -m docs.generate`` builds it. A page asks for a part with a line ``<!-- generate: NAME -->``. The parts are
made while the site is built, so they cannot differ from the code.
"""

from __future__ import annotations

import os
import tempfile

import django
from django.apps import apps

# The service's code is read here, and nothing is served: no key of the machine is needed, and none may be shown.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("SECRET_KEY", "not a secret: the documentation is built with it")
os.environ.setdefault("ELICIT_VAULT_KEYS", f"docs:{'A' * 43}=")
_folder = tempfile.TemporaryDirectory(prefix="elicit-docs-")  # goes with the process
os.environ.setdefault("DATABASE_URL", f"sqlite:///{_folder.name}/docs.sqlite3")
if not apps.ready:
    django.setup()
