"""A certificate for servers of a test on this machine."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def by_an_authority(folder: Path, name: str) -> Path:
    """Files for the DNS ``name``: ``server.pem`` and ``server.key``, by the authority in the answer. They have what
    Python 3.13 asks of certificates.
    """
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An authority of a test")])
    today = datetime.now(UTC)

    def certificate(subject: x509.Name, public: ec.EllipticCurvePublicKey, *extensions: x509.ExtensionType) -> bytes:
        made = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(ca)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(today - timedelta(days=1))
            .not_valid_after(today + timedelta(days=1))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        )
        for extension in extensions:
            made = made.add_extension(extension, critical=not isinstance(extension, x509.SubjectAlternativeName))
        return made.sign(ca_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    signs = x509.KeyUsage(
        key_cert_sign=True, crl_sign=True, digital_signature=False, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    of_authority = x509.BasicConstraints(ca=True, path_length=0), signs
    (folder / "ca.pem").write_bytes(certificate(ca, ca_key.public_key(), *of_authority))
    own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    named = x509.SubjectAlternativeName([x509.DNSName(name)])
    (folder / "server.pem").write_bytes(certificate(own, key.public_key(), named))
    (folder / "server.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "ca.pem"


def self_signed(folder: Path, name: str) -> tuple[ssl.SSLContext, str]:
    """A server context with a fresh certificate for the DNS ``name``, and the path of the PEM that vouches for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    today = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, secret = folder / f"{name}.pem", folder / f"{name}.key"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, secret)
    return context, str(pem)
