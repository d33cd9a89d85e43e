"""H5: a file that is applied changed who an identity provider is."""

from __future__ import annotations

from elicit_flows.models import IdentityProvider
from tests.management import conftest as management
from tests.management.files import WHOLE, Operator

operator = management.operator


def test_t132_an_identity_provider_keeps_its_issuer(operator: Operator) -> None:
    operator.apply(WHOLE)
    operator.apply(WHOLE.replace('issuer = "https://idp.example.com"', 'issuer = "https://evil.example.com"'))
    assert IdentityProvider.objects.get().issuer == "https://idp.example.com"
