"""The vault: the only code that reads and writes connections, and the only place that seals or opens secrets.

``keep`` stores a grant, ``token`` returns an access token and refreshes it if needed, ``revoke`` ends a connection,
``rotate`` seals every secret again with the newest key.
"""

from elicit_flows.models import Connection, ConnectionUse
from elicit_flows.vault import contacts, two_factor
from elicit_flows.vault.api_access import HOST as API_HOST
from elicit_flows.vault.api_access import ApiAccess, access_to_api, ready_access, renewed_access
from elicit_flows.vault.call_log import CallLog
from elicit_flows.vault.client_registration import forget_registration, register_client
from elicit_flows.vault.connection_history import by_use, calls_of, count_at, count_held, uses_by, uses_of
from elicit_flows.vault.connection_import import import_connection
from elicit_flows.vault.connections import (
    CONNECTED,
    connection_to_renew,
    ended,
    ended_before,
    ever_held_by,
    forget,
    held_by,
    keep,
    live_connections,
    of_person,
    owned,
    possible_accounts,
    reconnectable,
    require_tokens_leave,
    result,
    with_held_scopes,
)
from elicit_flows.vault.credentials import existing_connection, keep_credentials, open_credentials
from elicit_flows.vault.dpop import proof
from elicit_flows.vault.installation_tokens import installation_token
from elicit_flows.vault.keyring import KeyUse, check_keys, key_uses, new_entry, retire, verify_keys
from elicit_flows.vault.managed import (
    answering,
    can_vouch,
    is_managed,
    keep_assertion,
    organisation,
    vouched_before,
    vouched_grant,
)
from elicit_flows.vault.mcp_servers import discover_mcp_server, known_mcp_server
from elicit_flows.vault.notes import Note, open_note, seal_note
from elicit_flows.vault.payment_accounts import account, open_url, seal_account, seal_url
from elicit_flows.vault.pending_grants import (
    pending_grant,
    providers_of_rejected_grants,
    reject_pending_grant,
    rejected_grants_due,
    revoke_rejected_grant,
    store_pending_grant,
    take_pending_grant,
)
from elicit_flows.vault.provider_settings import (
    MOVED,
    app_key,
    app_key_moved,
    calls_left_out,
    client_id,
    client_secret,
    credentials_provider,
    for_person,
    hosts_in_words,
    hosts_of,
    moved_hosts,
    oauth,
    openid,
    proxy,
    registration_of,
    seal_app_key,
    seal_client_secret,
    seal_webhook_secret,
    site,
    webhook_secrets,
)
from elicit_flows.vault.receipt_keys import EXPORT_TYPE, MANDATE_TYPE, NotSigned, public_keys, verify_export
from elicit_flows.vault.receipt_keys import new_key as new_receipt_key
from elicit_flows.vault.receipt_keys import sign as sign_receipt
from elicit_flows.vault.refresh_job import Refreshes
from elicit_flows.vault.refresh_job import oldest_due as oldest_due_refresh
from elicit_flows.vault.rejected_tokens import report_rejected_token
from elicit_flows.vault.revocation import (
    providers_due,
    revocations_due,
    revoke,
    revoke_unkept_grant,
    tell_of_revocation,
)
from elicit_flows.vault.rotation import left_to_rotate, rotate
from elicit_flows.vault.seal import open_stash, ring, seal_stash
from elicit_flows.vault.tokens import fresh_tokens, token
from elicit_flows.vault.wallets import signed_transfer, wallet_address

__all__ = [
    "API_HOST",
    "CONNECTED",
    "EXPORT_TYPE",
    "MANDATE_TYPE",
    "MOVED",
    "ApiAccess",
    "CallLog",
    "Connection",
    "ConnectionUse",
    "KeyUse",
    "NotSigned",
    "Note",
    "Refreshes",
    "access_to_api",
    "account",
    "answering",
    "app_key",
    "app_key_moved",
    "by_use",
    "calls_left_out",
    "calls_of",
    "can_vouch",
    "check_keys",
    "client_id",
    "client_secret",
    "connection_to_renew",
    "contacts",
    "count_at",
    "count_held",
    "credentials_provider",
    "discover_mcp_server",
    "ended",
    "ended_before",
    "ever_held_by",
    "existing_connection",
    "for_person",
    "forget",
    "forget_registration",
    "fresh_tokens",
    "held_by",
    "hosts_in_words",
    "hosts_of",
    "import_connection",
    "installation_token",
    "is_managed",
    "keep",
    "keep_assertion",
    "keep_credentials",
    "key_uses",
    "known_mcp_server",
    "left_to_rotate",
    "live_connections",
    "moved_hosts",
    "new_entry",
    "new_receipt_key",
    "oauth",
    "of_person",
    "oldest_due_refresh",
    "open_credentials",
    "open_note",
    "open_stash",
    "open_url",
    "openid",
    "organisation",
    "owned",
    "pending_grant",
    "possible_accounts",
    "proof",
    "providers_due",
    "providers_of_rejected_grants",
    "proxy",
    "public_keys",
    "ready_access",
    "reconnectable",
    "register_client",
    "registration_of",
    "reject_pending_grant",
    "rejected_grants_due",
    "renewed_access",
    "report_rejected_token",
    "require_tokens_leave",
    "result",
    "retire",
    "revocations_due",
    "revoke",
    "revoke_rejected_grant",
    "revoke_unkept_grant",
    "ring",
    "rotate",
    "seal_account",
    "seal_app_key",
    "seal_client_secret",
    "seal_note",
    "seal_stash",
    "seal_url",
    "seal_webhook_secret",
    "sign_receipt",
    "signed_transfer",
    "site",
    "store_pending_grant",
    "take_pending_grant",
    "tell_of_revocation",
    "token",
    "two_factor",
    "uses_by",
    "uses_of",
    "verify_export",
    "verify_keys",
    "vouched_before",
    "vouched_grant",
    "wallet_address",
    "webhook_secrets",
    "with_held_scopes",
]
