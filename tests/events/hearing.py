"""``manage.py`` with one difference: what waits looks by itself every half minute only, so a wake-up has to come."""

from __future__ import annotations

import sys

import django

django.setup()

# ruff: noqa: E402  Django must be set up before its models are imported
from django.core.management import execute_from_command_line

from elicit_flows.api.streaming import broker

broker.POLL = 30.0

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
