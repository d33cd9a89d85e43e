"""The option ``--jobs`` of ``manage.py serve`` and ``manage.py work``."""

from __future__ import annotations

from argparse import ArgumentTypeError

from elicit_flows.job_table import BY_NAME

LIST = ", ".join(BY_NAME)
ALL, NONE = "all", "none"


def job_names(said: str) -> list[str]:
    """The jobs that are named, separated by commas."""
    found = [name.strip() for name in said.split(",")]
    unknown = [name for name in found if name not in BY_NAME]
    if unknown:
        raise ArgumentTypeError(f"there is no job {', '.join(unknown) or '“”'}; the jobs are {LIST}")
    return list(dict.fromkeys(found))


def server_jobs(said: str) -> list[str]:
    """The same, or one of the two words."""
    words: dict[str, list[str]] = {ALL: list(BY_NAME), NONE: []}
    return words[said] if said in words else job_names(said)
