"""AWS KMS. Region, credentials and endpoint come from AWS's usual places (AWS_DEFAULT_REGION, a role, …).

KMS creates the key's bytes (GenerateDataKeyWithoutPlaintext) and returns them when a process starts (Decrypt). With the
encryption context, a policy can allow a role these keys only.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import get_session

from elicit_flows.lib.kms.errors import KmsError

CONTEXT = {"purpose": "elicit-flows vault key"}
CLIENT_CONFIG = Config(connect_timeout=5, read_timeout=5, retries={"total_max_attempts": 3, "mode": "standard"})


def new(name: str, options: object = None) -> str:
    """``name``: a key's id, ARN or alias (``alias/elicit``)."""
    made = _call("generate_data_key_without_plaintext", KeyId=name, KeySpec="AES_256", EncryptionContext=CONTEXT)
    return base64.b64encode(made["CiphertextBlob"]).decode()


def unwrap(wrapped: str, options: object = None) -> bytes:
    try:
        blob = base64.b64decode(wrapped, validate=True)
    except binascii.Error:
        raise KmsError("the part after aws-kms: is not base64") from None
    plain: bytes = _call("decrypt", CiphertextBlob=blob, EncryptionContext=CONTEXT)["Plaintext"]
    return plain


def _call(operation: str, **arguments: Any) -> dict[str, Any]:
    try:
        client = get_session().create_client("kms", config=CLIENT_CONFIG)
        answer: dict[str, Any] = getattr(client, operation)(**arguments)
    except ClientError as error:
        raise KmsError(f"AWS KMS answered {error.response['Error']['Code']}") from None
    except (BotoCoreError, ValueError) as error:
        raise KmsError(f"the call to AWS KMS failed: {error}") from None
    return answer
