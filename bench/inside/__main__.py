"""``python -m bench.inside``: does what it is asked on the database of its environment."""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

# ruff: noqa: E402  Django must be set up before its models are imported
from bench.inside import delivering, history, resealing, seeding, stirring
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
    calm=delivering.calm,
    reseal=resealing.reseal,
    past=history.past,
    creates=history.creates,
    claims=history.claims,
)
