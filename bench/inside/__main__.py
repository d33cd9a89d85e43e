"""``python -m bench.inside``: does what it is asked on the database of its environment."""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ["ELICIT_STATEMENT_TIMEOUT"] = "0"  # a million rows are written in one
django.setup()

# ruff: noqa: E402  Django must be set up before its models are imported
from bench.inside import delivering, history, refreshing, resealing, seeding, starving, stirring
from bench.talk import serve

serve(
    bare_rows=seeding.bare_rows,
    grants=seeding.grants,
    expire_tokens=seeding.expire_tokens,
    agents=seeding.agents,
    started=seeding.started,
    stir=stirring.stir,
    hooked=delivering.hooked,
    pending=delivering.pending,
    fill=delivering.fill,
    deliver=delivering.deliver,
    undelivered=delivering.undelivered,
    post=delivering.post,
    post_from_a_loop=delivering.post_from_a_loop,
    calm=delivering.calm,
    reseal=resealing.reseal,
    refreshable=refreshing.refreshable,
    refresh=refreshing.refresh,
    past=history.past,
    in_front=history.in_front,
    without_lists=history.without_lists,
    wal=history.wal,
    creates=history.creates,
    claims=history.claims,
    fall_due=starving.fall_due,
    was_done=starving.was_done,
)
