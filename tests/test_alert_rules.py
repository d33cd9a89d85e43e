"""When the alerts of deploy/alerts.yml fire: by promtool over the histories of tests/alert_rules.yml, and by a real
Prometheus that watches a service whose worker dies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from elicit_flows.job_table import BY_NAME, PURGE
from tests.support.box import Box
from tests.support.process import PROJECT, until
from tests.support.prometheus import LATE, RULES, Prometheus, promtool

pytestmark = pytest.mark.slow

HISTORIES = PROJECT / "tests" / "alert_rules.yml"
ACTS = {"ElicitDown", "ElicitWorkerDead"}


def never(rule: dict[str, Any]) -> None:
    rule["expr"] = "vector(1) > 2"


def always(rule: dict[str, Any]) -> None:
    rule["expr"] = "vector(1)"


def at_once(rule: dict[str, Any]) -> None:
    rule["for"] = "0m"


def a_minute_later(rule: dict[str, Any]) -> None:
    rule["for"] = f"{int(rule.get('for', '0m').removesuffix('m')) + 1}m"


def without_summary(rule: dict[str, Any]) -> None:
    rule["annotations"] = {}


def test_each_alert_fires_when_it_should_and_not_before() -> None:
    assert promtool("check", "rules", RULES).returncode == 0
    ran = promtool("test", "rules", HISTORIES)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("wrong", [never, always, at_once, a_minute_later, without_summary])
def test_the_histories_find_each_rule_that_is_wrong(wrong: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    """Without this, an alert that nobody wrote a history for would pass."""
    rules = yaml.safe_load(RULES.read_text())
    of_group = rules["groups"][0]["rules"]
    changed = {rule["alert"] for rule in of_group if wrong is not at_once or "for" in rule}
    for rule in of_group:
        wrong(rule)
    for path, said in (("deploy/alerts.yml", rules), ("tests/alert_rules.yml", yaml.safe_load(HISTORIES.read_text()))):
        file = tmp_path / path
        file.parent.mkdir()
        file.write_text(yaml.safe_dump(said))
    ran = promtool("test", "rules", tmp_path / "tests/alert_rules.yml")
    assert ran.returncode == 1
    assert set(re.findall(r"alertname: (\w+)", ran.stdout + ran.stderr)) == changed


@pytest.fixture
def watched(new_box: Callable[..., Box]) -> Iterator[tuple[Box, Prometheus]]:
    box = new_box("full", webs=2)
    prometheus = Prometheus([url.removeprefix("http://") for url in box.urls])
    try:
        yield box, prometheus.start()
    finally:
        prometheus.remove()


@pytest.mark.slow
def test_a_dead_worker_is_found_by_its_alert_and_so_is_a_service_that_is_gone(watched: tuple[Box, Prometheus]) -> None:
    box, prometheus = watched
    ran = 'elicit_job_last_run_timestamp_seconds{name!="purge"} > 0'
    jobs = set(BY_NAME) - {PURGE.name}
    until(lambda: {one["metric"]["name"] for one in prometheus.query(ran)} == jobs, "every job has run", timeout=60)
    until(lambda: len(prometheus.query("up == 1")) == 2, "both processes are asked")
    until(lambda: not prometheus.firing() & ACTS, "nothing fires while everything runs", timeout=60)

    box.kill9("worker")
    until(lambda: prometheus.firing() & ACTS == {"ElicitWorkerDead"}, "its alert fires", timeout=LATE + 60)
    box.restart("worker")
    until(lambda: not prometheus.firing() & ACTS, "the alert ends when a worker runs again", timeout=60)

    for web in box.webs:
        box.kill9(web)
    until(lambda: prometheus.firing() & ACTS == {"ElicitDown"}, "nobody answers", timeout=60)
    assert prometheus.faults() == []
