"""The vault: the only importer of connection rows and of lib.crypto.

``keep`` stores a grant, ``token`` gives out an access token and refreshes it, ``revoke`` ends a connection,
``rotate`` seals everything anew under the newest key.
"""

from elicit_flows.models import Connection, Use
from elicit_flows.vault import operators
from elicit_flows.vault.accounts import account, open_url, seal_account, seal_url
from elicit_flows.vault.background import refresh_due
from elicit_flows.vault.configs import (
    client_secret,
    credentials_provider,
    oauth,
    openid,
    proxy,
    registration_of,
    seal_client_secret,
    seal_webhook_secret,
    site,
    webhook_secrets,
)
from elicit_flows.vault.connections import (
    ended,
    ended_before,
    ever_held_by,
    forget,
    held_by,
    keep,
    of_person,
    owned,
    result,
)
from elicit_flows.vault.credentials import keep_credentials, open_credentials
from elicit_flows.vault.held_grants import give_back_due, held, hold, reject, take
from elicit_flows.vault.importing import bring
from elicit_flows.vault.keyring import KeyUse, check_keys, key_uses, new_entry, retire, verify_keys
from elicit_flows.vault.notes import Note, open_note, seal_note
from elicit_flows.vault.proofs import proof
from elicit_flows.vault.receipts import new_key as new_receipt_key
from elicit_flows.vault.receipts import public_keys
from elicit_flows.vault.receipts import sign as sign_receipt
from elicit_flows.vault.reconnection import reconnectable, reconnecting, with_held_scopes
from elicit_flows.vault.registration import forget_registration, make_known
from elicit_flows.vault.reports import report
from elicit_flows.vault.reusing import already
from elicit_flows.vault.revocation import drop, revoke, tell_due_providers
from elicit_flows.vault.rotation import left_to_rotate, rotate
from elicit_flows.vault.seal import open_stash, ring, seal_stash
from elicit_flows.vault.tokens import token

__all__ = [
    "Connection",
    "KeyUse",
    "Note",
    "Use",
    "account",
    "already",
    "bring",
    "check_keys",
    "client_secret",
    "credentials_provider",
    "drop",
    "ended",
    "ended_before",
    "ever_held_by",
    "forget",
    "forget_registration",
    "give_back_due",
    "held",
    "held_by",
    "hold",
    "keep",
    "keep_credentials",
    "key_uses",
    "left_to_rotate",
    "make_known",
    "new_entry",
    "new_receipt_key",
    "oauth",
    "of_person",
    "open_credentials",
    "open_note",
    "open_stash",
    "open_url",
    "openid",
    "operators",
    "owned",
    "proof",
    "proxy",
    "public_keys",
    "reconnectable",
    "reconnecting",
    "refresh_due",
    "registration_of",
    "reject",
    "report",
    "result",
    "retire",
    "revoke",
    "ring",
    "rotate",
    "seal_account",
    "seal_client_secret",
    "seal_note",
    "seal_stash",
    "seal_url",
    "seal_webhook_secret",
    "sign_receipt",
    "site",
    "take",
    "tell_due_providers",
    "token",
    "verify_keys",
    "webhook_secrets",
    "with_held_scopes",
]
