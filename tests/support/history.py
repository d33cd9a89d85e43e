"""A database with a long past, on PostgreSQL: many rows in each table that grows, written by the database itself.

``begin`` makes what is there without a past: a few rows of each status and kind. They are older than all of the past,
so that whoever looks for them by walking back in time has all of it to pass. ``add`` makes the past.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

from django.db import connection, models
from django.db.models.expressions import DatabaseDefault

from elicit_flows.domain.status import Status
from elicit_flows.models import (
    Attempt,
    Checkout,
    Connection,
    ConnectionUse,
    Delivery,
    Elicitation,
    Entitlement,
    Event,
    Feed,
    Inbound,
    Payment,
    PaymentAccount,
    Provider,
    Refund,
    SignOut,
    Tally,
)
from tests.support import money, rows
from tests.support.rows import Known

FEW = 25  # rows of each sort without a past: more than a page has
PERSON = 4  # rows of one sort that are of one person
OLD = "now() - interval '89 days' - n * interval '1 second'"
Columns = dict[str, str]  # an SQL expression by column; n counts the rows from 1


@dataclass(frozen=True)
class History:
    """Two agents, two providers, two payment accounts: nearly all of the past is of the first of each."""

    hot: Known
    other: Known
    drive: Provider
    rare: Provider
    first: PaymentAccount
    second: PaymentAccount

    def add(self, count: int) -> None:
        """``count`` rows more in each table that grows, in some half as many, of the last 85 days; nothing is due."""
        with _without_indexes():
            self._add(count)
        vacuum()

    def _add(self, count: int) -> None:
        at = f"(now() - n * (interval '85 days' / {count}))"
        person = f"'past-' || n / {PERSON}"
        own = {"id": "'past-' || n", "created_at": at, "iss": _text(rows.ISSUER), "sub": person}
        agent = f"CASE WHEN mod(n, 10) = 0 THEN {self.other.row.pk} ELSE {self.hot.row.pk} END"
        own["agent_id"] = agent
        over = {"finished_at": f"{at} + interval '1 minute'", "expires_at": f"{at} + interval '1 hour'"}
        kinds = "(ARRAY['oauth', 'confirm', 'form'])[1 + mod(n, 3)]"
        status = "CASE WHEN mod(n, 5) = 0 THEN 'expired' ELSE 'completed' END"
        write(Elicitation, count, {**own, **over, "kind": kinds, "status": status})
        codes = {"elicitation_id": "'past-' || n", "state_hash": "'past-' || n", "expires_at": at, "created_at": at}
        write(Attempt, count // 2, {**codes, "used_at": at}, browser_hash="x", stash="")
        self._tell(count, at, agent)
        live = {**own, "provider_id": str(self.drive.pk), "account_id": "'past-' || n"}
        ended = f"CASE WHEN mod(n, 10) = 1 THEN {at} END"
        state = "CASE WHEN mod(n, 10) = 1 THEN 'revoked' ELSE 'active' END"
        due = "now() + n * interval '1 second'"
        write(Connection, count, {**live, "status": state, "revoked_at": ended, "refresh_due_at": due})
        used = {"connection_id": "'past-' || n", "hour": f"date_trunc('hour', {at})", "first_at": at, "last_at": at}
        write(ConnectionUse, count // 2, used, action="fetched", actor="agent")
        self._pay(count, at, own)
        write(SignOut, count // 2, {"iss": _text(rows.ISSUER), "sub": "'past-' || n", "at": "now()"}, epoch="x")
        hours = "date_trunc('hour', now()) - mod(n, 2000) * interval '1 hour'"
        labels = "'[\"past-' || mod(n, 9) || '\"]'"
        write(Tally, min(count // 10, 2000), {"hour": hours, "labels": labels}, name="deliveries")

    def _tell(self, count: int, at: str, agent: str) -> None:
        told = {"id": "'past-' || n", "agent_id": agent, "created_at": at}
        elicitation = {"elicitation_id": "'past-' || n", "position": f"n + {FEW}"}
        write(Event, count, {**told, **elicitation}, type="elicitation.completed", data={"object": "elicitation"})
        Feed.objects.update(position=count + FEW)
        sent = {**told, "event_id": "'past-' || n", "next_at": at, "delivered_at": at}
        write(Delivery, count, sent, status="delivered", tries=1)

    def _pay(self, count: int, at: str, own: Columns) -> None:
        account = {"account_id": str(self.first.pk)}
        paid = {**own, **account, "paid_at": at, "payment_ref": "'past-' || n", "elicitation_id": "'past-' || n"}
        write(Payment, count, paid, **_PAYMENT, status="paid", item="report")
        page = {"id": "'past-' || n", "payment_id": "'past-' || n", "created_at": at, "ref": "'past-' || n", **account}
        looks = {"look_at": "CASE WHEN mod(n, 2) = 0 THEN now() + n * interval '1 second' END", "expires_at": at}
        write(Checkout, count // 2, {**page, **looks}, status="paid")
        write(Entitlement, count // 2, {**own, "payment_id": "'past-' || n"}, item="report")
        given = {"id": "'past-' || n", "payment_id": "'past-' || n", "created_at": at, "done_at": at}
        write(Refund, count // 10, given, amount=100, status="done", by="agent", payment_ref="x")
        heard = {**account, "event_id": "'past-' || n", "received_at": "now()", "done_at": "now()", "try_at": "NULL"}
        write(Inbound, count // 2, heard, type="checkout.session.completed")


_PAYMENT: dict[str, Any] = {"mode": "pay", "amount": 1999, "currency": "eur", "description": "A report"}


def begin() -> History:
    at = "http://127.0.0.1:9/hooks"
    made = History(
        rows.agent("hot", webhook_url=at), rows.agent("other", webhook_url=at), rows.provider(),
        rows.provider(slug="rare"), money.account("first"), money.account("second"),
    )  # fmt: skip
    for who in (made.hot, made.other):
        who.row.payment_accounts.add(made.first, made.second)
        _few(made, who)
    vacuum()
    return made


def _few(made: History, who: Known) -> None:
    pk = who.row.pk
    agent = {"agent_id": str(pk), "iss": _text(rows.ISSUER)}
    for status, kind in product(Status, ("oauth", "link")):
        name = f"'few-{pk}-{status}-{kind}-' || n"
        own = {"id": name, "created_at": OLD, "sub": f"'few-' || n / {PERSON}"}
        over = OLD if status in ("completed", "failed", "declined", "cancelled", "expired") else "NULL"
        until = {"finished_at": over, "expires_at": "now() + interval '1 day'"}
        if status == Status.SETTLING:
            until["settling_since"] = "now() + interval '1 day'"
        write(Elicitation, FEW, {**agent, **own, **until}, status=status, kind=kind)
    told = {"agent_id": str(pk), "created_at": OLD}
    write(Event, FEW, {**told, "id": f"'few-{pk}-' || n", "position": "n"}, type="elicitation.created", data={})
    Feed.objects.create(agent=who.row, position=FEW)
    for state in ("delivered", "failed"):
        sent = {**told, "id": f"'few-{pk}-{state}-' || n", "event_id": f"'few-{pk}-' || n", "next_at": OLD}
        write(Delivery, FEW, sent, status=state)
    for standing, provider in product(Connection.Status, (made.drive, made.rare)):
        name = f"'few-{pk}-{standing}-{provider.slug}-' || n"
        own = {"id": name, "account_id": name, "created_at": OLD, "sub": f"'few-' || n / {PERSON}"}
        own["revoked_at"] = OLD if standing == "revoked" else "NULL"
        write(Connection, FEW, {**agent, **own, "provider_id": str(provider.pk)}, status=standing)
    for state, mode in product(Payment.Status, ("pay", "subscribe")):
        name = f"'few-{pk}-{state}-{mode}-' || n"
        own = {"id": name, "created_at": OLD, "sub": f"'few-' || n / {PERSON}", "account_id": str(made.first.pk)}
        refunded = "CASE WHEN mod(n, 2) = 0 THEN 1999 ELSE 0 END"
        bought = {**_PAYMENT, "mode": mode, "status": state, "item": "seldom"}
        write(Payment, FEW, {**agent, **own, "refunded": refunded}, **bought)
    name = f"'few-{pk}-paid-pay-' || n"
    write(
        Entitlement, FEW, {**agent, "id": name, "payment_id": name, "created_at": OLD, "sub": "'few-0'"}, item="seldom"
    )  # fmt: skip


def write(model: type[models.Model], count: int, columns: Columns, **values: Any) -> None:
    """``count`` rows of a table: each column as ``columns`` or ``values`` say, else as a new object has it.

    Foreign keys are not checked one by one, which would take most of the time.
    """
    template, names, expressions, given = model(**values), [], [], []
    for field in model._meta.concrete_fields:
        value = getattr(template, field.attname)
        if field.column not in columns:
            if isinstance(field, models.AutoField) or isinstance(value, DatabaseDefault):
                continue
            given.append(field.get_db_prep_save(value, connection))
        names.append(connection.ops.quote_name(str(field.column)))
        expressions.append(columns.get(str(field.column), "%s"))
    table = connection.ops.quote_name(model._meta.db_table)
    chosen = ", ".join(expressions)
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {chosen} FROM generate_series(1, %s) AS n",
            [*given, count],
        )
        cursor.execute("RESET session_replication_role")


# Those that hold no constraint: made anew when the rows are there, which takes half of the time.
_INDEXES = """
    SELECT i.indexname, i.indexdef FROM pg_indexes AS i
    WHERE i.tablename LIKE 'elicit\\_flows\\_%' AND NOT EXISTS (
        SELECT FROM pg_index AS x WHERE x.indexrelid = i.indexname::regclass AND x.indisunique
    )
"""


@contextmanager
def _without_indexes() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(_INDEXES)
        made = cursor.fetchall()
        for name, _ in made:
            cursor.execute(f"DROP INDEX {connection.ops.quote_name(name)}")
        yield
        for _, definition in made:
            cursor.execute(definition)


def vacuum() -> None:
    """As a server does by itself some minutes later."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
