"""How much the product's own statements read: rows and pages, as EXPLAIN (ANALYZE, BUFFERS) counts them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from django.db import connection, transaction

_LOOKED_INTO = ("SELECT", "WITH", "UPDATE", "DELETE")


class Reads(NamedTuple):
    """``rows`` that were looked at, also those that were then left out; ``pages`` of 8 kB, each time it was used."""

    rows: int = 0
    pages: int = 0
    statements: int = 0

    def within(self, limit: Reads) -> bool:
        return self.rows <= limit.rows and self.pages <= limit.pages


def read_by(act: Callable[[], object]) -> tuple[Reads, str]:
    """What ``act`` reads, and its plans. What it writes is undone."""
    found: list[Reads] = []
    plans: list[str] = []

    def explained(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if not many and sql.lstrip().upper().startswith(_LOOKED_INTO):
            with transaction.atomic():
                cursor = context["cursor"]
                execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params, False, context)
                said = cursor.fetchone()[0]
                plan = (json.loads(said) if isinstance(said, str) else said)[0]["Plan"]
                transaction.set_rollback(True)
            found.append(Reads(sum(map(_rows, _nodes(plan))), _pages(plan), 1))
            plans.append(f"{sql}\n{_brief(plan)}")
        return execute(sql, params, many, context)

    with transaction.atomic():
        with connection.execute_wrapper(explained):
            act()
        transaction.set_rollback(True)
    return Reads(*map(sum, zip(*found, strict=True))) if found else Reads(), "\n".join(plans)


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


def _rows(node: dict[str, Any]) -> int:
    """Of a node that reads a table or an index; what a bitmap found is read by the node above it."""
    if "Scan" not in node["Node Type"] or node["Node Type"] in ("Bitmap Index Scan", "Subquery Scan", "CTE Scan"):
        return 0
    left_out = ("Rows Removed by Filter", "Rows Removed by Index Recheck")
    looked_at: float = (node["Actual Rows"] + sum(node.get(name, 0) for name in left_out)) * node["Actual Loops"]
    return round(looked_at)


def _pages(plan: dict[str, Any]) -> int:
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def _brief(node: dict[str, Any], depth: int = 1) -> str:
    """One line a node."""
    over = node.get("Index Name") or node.get("Relation Name") or ""
    removed = node.get("Rows Removed by Filter") or 0
    counted = f"{node['Actual Rows']} rows x {node['Actual Loops']}, {removed} left out, {_pages(node)} pages"
    line = f"{'  ' * depth}{node['Node Type']} {over}: {counted}"
    return "\n".join([line, *(_brief(below, depth + 1) for below in node.get("Plans", ()))])
