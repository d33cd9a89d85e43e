#!/usr/bin/env python
"""Django's command line."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import OperationalError

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:  # its sentence says what is wrong; --traceback is Django's
        if "--traceback" in sys.argv:
            raise
        sys.exit(str(error))
    except OperationalError as error:
        if "--traceback" in sys.argv or getattr(error.__cause__, "sqlstate", None):  # the database has answered
            raise
        sys.exit(f"DATABASE_URL: the database does not answer ({error}).")
