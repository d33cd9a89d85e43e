"""A short run of ``make chaos``, so that it keeps working, and one that has to find a fault that was put there."""

from __future__ import annotations

import os
import sys

import pytest

from tests.chaos.flows import ENDS, KINDS, flow
from tests.chaos.nemesis import KINDS as BREAKS
from tests.chaos.nemesis import Nemesis, drawn
from tests.chaos.people import ANSWERS, Player
from tests.chaos.run import run
from tests.chaos.world import World

SEED = os.environ.get("CHAOS_SEED") or "small"  # `make chaos` draws another each time
FLOWS, FAULTS = 20, 10

# Two defences taken out: keys of creates are forgotten, and some webhooks are taken for delivered before they are sent.
PLANTED = """
    CREATE FUNCTION forget_key() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN NEW.idempotency_key := NULL; RETURN NEW; END $$;
    CREATE TRIGGER planted BEFORE INSERT ON elicit_flows_elicitation FOR EACH ROW EXECUTE FUNCTION forget_key();
    CREATE FUNCTION skip_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF random() < 0.3 THEN NEW.status := 'delivered'; NEW.delivered_at := now(); END IF;
            RETURN NEW;
        END $$;
    CREATE TRIGGER planted BEFORE INSERT ON elicit_flows_delivery FOR EACH ROW EXECUTE FUNCTION skip_delivery()
"""


@pytest.mark.slow
@pytest.mark.limit(600)
def test_flows_of_every_kind_come_to_their_right_end_while_everything_breaks() -> None:
    report = run(FLOWS, FAULTS, SEED)
    print(report, file=sys.stderr)
    assert report.violations == [], f"CHAOS_SEED={SEED}\n{report}"
    assert report.faults.total() == FAULTS
    assert {line["flow"] for line in report.lines if line["op"] == "asked"} == set(range(FLOWS))
    assert {line["op"] for line in report.lines} >= {"heard", "signed", "consumed", "position", "left"}


@pytest.mark.slow
@pytest.mark.limit(600)
def test_a_service_whose_defences_were_taken_out_is_found_out() -> None:
    seed, flows = "planted-17", 12
    assert any(flow(seed, number).twice for number in range(flows)), "somebody asks twice with one key"

    def plant(world: World) -> None:
        world.sql(PLANTED)

    found = {one.rule for one in run(flows, 2, seed, prepare=plant).violations}
    assert {"one_for_each_key", "webhooks_agree"} <= found


def test_every_flow_and_every_fault_that_may_be_drawn_can_be_played() -> None:
    assert all(callable(getattr(Player, f"_{end}", None)) for end in ENDS if end != "taken_back_meanwhile")
    assert ENDS.keys() - ANSWERS.keys() == {"taken_back", "ignores_it"}, "they never open their link"
    assert all(callable(getattr(Nemesis, name.partition(" ")[0], None)) for name in BREAKS)
    assert all(flow("a", number).question("http://127.0.0.1/visit")["params"] for number in range(100))
    assert {flow("a", number).kind for number in range(200)} == set(KINDS)


def test_the_same_seed_draws_the_same_flows_and_faults_and_every_kind_of_fault() -> None:
    assert [flow("a", number) for number in range(50)] == [flow("a", number) for number in range(50)]
    assert [flow("a", number) for number in range(50)] != [flow("b", number) for number in range(50)]
    assert drawn("a", 200) == drawn("a", 200)
    assert drawn("a", 200) != drawn("b", 200)
    assert {f"{one.kind} {one.target}" for one in drawn("a", len(BREAKS))} == set(BREAKS)
