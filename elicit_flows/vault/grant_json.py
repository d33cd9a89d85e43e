"""A grant as JSON, which is sealed before it is stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from elicit_flows.domain.values import Grant, Json, Secret


def dump(grant: Grant) -> Json:
    """With its secrets in the clear."""
    return {
        "access_token": grant.access_token.reveal(),
        "refresh_token": grant.refresh_token.reveal() if grant.refresh_token else None,
        "token_type": grant.token_type,
        "expires_at": grant.expires_at.isoformat() if grant.expires_at else None,
        "scopes": list(grant.scopes),
        "account_id": grant.account_id,
        "account_label": grant.account_label,
        "dpop_key": grant.dpop_key.reveal() if grant.dpop_key else None,
        "token_secret": grant.token_secret.reveal() if grant.token_secret else None,
        "metadata": grant.metadata,
        "variables": dict(grant.variables),
        "resource": grant.resource,
        "bound_to": dict(grant.bound_to) if grant.bound_to is not None else None,
        "sets": {name: dump(one) for name, one in grant.sets.items()},
    }


def load(said: Json) -> Grant:
    """The grant that ``dump`` returned."""
    secrets: Any = {
        name: Secret(said[name]) if said.get(name) else None for name in ("refresh_token", "dpop_key", "token_secret")
    }
    return Grant(
        access_token=Secret(said["access_token"]),
        token_type=said["token_type"],
        expires_at=datetime.fromisoformat(said["expires_at"]) if said["expires_at"] else None,
        scopes=tuple(said["scopes"]),
        account_id=said["account_id"],
        account_label=said["account_label"],
        bound_to=said.get("bound_to"),
        metadata=said.get("metadata", {}),
        variables=said.get("variables", {}),
        resource=said.get("resource", ""),
        sets={name: load(one) for name, one in said.get("sets", {}).items()},
        **secrets,
    )
