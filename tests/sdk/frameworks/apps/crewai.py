"""``my_app`` of docs/how-to/frameworks/crewai.md. The flow needs no model."""

import json
import os

TOLD = json.loads(os.environ["TOLD"])
run, user = TOLD["run"], TOLD["user"]


def send_to_user(url: str) -> None:
    print(url)
