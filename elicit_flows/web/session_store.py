"""Sessions stored under a hash of the cookie, so that a dump of the table opens no session."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.utils import timezone

from elicit_flows.lib.compiled_query import CompiledQuery

_WITH_KEY = CompiledQuery(lambda key: Session.objects.filter(pk=key), "key")  # each page of a person reads one


def stored_key(session_key: str | None) -> str:
    """The primary key of the session's row: 240 bits of SHA-256, which fit its 40 characters.

    The session key is random itself (165 bits), so its hash needs no salt.
    """
    found = hashlib.sha256((session_key or "").encode("utf-8", "surrogatepass")).digest()[:30]
    return base64.urlsafe_b64encode(found).decode()


class SessionStore(db.SessionStore):
    """Django's store with another primary key. Every access to a row goes through these methods."""

    def _get_session_from_db(self) -> Session | None:
        row = _WITH_KEY.first(stored_key(self.session_key))
        return self._found(row if row and row.expire_date > timezone.now() else None)

    async def _aget_session_from_db(self) -> Session | None:
        rows = Session.objects.filter(pk=stored_key(self.session_key), expire_date__gt=timezone.now())
        return self._found(await rows.afirst())

    def _found(self, row: Session | None) -> Session | None:
        if row is None:
            self._session_key = None  # never adopt a key that we did not issue (session fixation)
        return row

    def exists(self, session_key: str) -> bool:
        return super().exists(stored_key(session_key))

    async def aexists(self, session_key: str) -> bool:
        return await super().aexists(stored_key(session_key))

    def create_model_instance(self, data: Any) -> AbstractBaseSession:
        return self._stored(super().create_model_instance(data))

    async def acreate_model_instance(self, data: Any) -> AbstractBaseSession:
        return self._stored(await super().acreate_model_instance(data))

    def _stored(self, row: AbstractBaseSession) -> AbstractBaseSession:
        row.session_key = stored_key(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            super().delete(stored_key(key))

    async def adelete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            await super().adelete(stored_key(key))
