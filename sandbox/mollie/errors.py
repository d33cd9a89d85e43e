"""Mollie's error body (docs.mollie.com/reference/handling-errors)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from sandbox.doubles.calls import ApiError

DOCS = {"href": "https://docs.mollie.com/reference/handling-errors", "type": "text/html"}


class MollieError(ApiError):
    """``field`` is the wrong parameter, if there is one."""

    def __init__(self, status: int, detail: str, *, field: str | None = None, kept: bool = False) -> None:
        super().__init__(status, detail, kept=kept)
        self.field = field

    def body(self) -> dict[str, Any]:
        said = {"status": self.status, "title": HTTPStatus(self.status).phrase, "detail": str(self)}
        return said | ({"field": self.field} if self.field else {}) | {"_links": {"documentation": DOCS}}


def unfit(field: str, detail: str) -> MollieError:
    return MollieError(422, detail, field=field)


def missing(kind: str, id: str) -> MollieError:
    """There is no such object, or not in this profile: both look the same."""
    return MollieError(404, f"No {kind} exists with token {id}.")
