"""The people behind the claims: local accounts, sessions, export and erasure of their data."""

from elicit_flows.people.erasure import erasure_pending, is_known, request_erasure, sweep_erasures
from elicit_flows.people.export import count_data, export_data
from elicit_flows.people.login_assertions import redeem_login_assertion, store_login_assertion
from elicit_flows.people.sessions import (
    end_all_sessions,
    end_session,
    end_sessions,
    forget_passkeys,
    note_session,
    session_epoch,
    sessions_of,
)
from elicit_flows.people.signed_exports import sign_bytes

__all__ = [
    "count_data",
    "end_all_sessions",
    "end_session",
    "end_sessions",
    "erasure_pending",
    "export_data",
    "forget_passkeys",
    "is_known",
    "note_session",
    "redeem_login_assertion",
    "request_erasure",
    "session_epoch",
    "sessions_of",
    "sign_bytes",
    "store_login_assertion",
    "sweep_erasures",
]
