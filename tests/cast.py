"""The people in the tests. Providers know Alice and Bob by these subs. Olga is an operator with a password."""

from __future__ import annotations

from dataclasses import dataclass

from elicit_flows.domain.values import Claim


@dataclass(frozen=True)
class Person:
    """``sub`` is their subject at the identity provider and, in the doubles, at the OAuth provider too."""

    sub: str
    name: str

    def claim(self, iss: str) -> Claim:
        return Claim(iss, self.sub)

    def subject(self, iss: str) -> dict[str, str]:
        """As the agent API takes it."""
        return {"iss": iss, "sub": self.sub}


@dataclass(frozen=True)
class Operator:
    username: str
    password: str


@dataclass(frozen=True)
class Program:
    """An agent. The key and the webhook secret are for tests alone."""

    slug: str
    name: str
    api_key: str
    webhook_secret: str


def program(slug: str, name: str = "") -> Program:
    """An agent with keys made from its slug, so that every run has the same."""
    key = f"test-key-of-{slug}-".ljust(40, "0")
    secret = "whsec_" + f"test{slug.replace('-', '')}".ljust(43, "A")[:43] + "="
    return Program(slug, name or slug.replace("-", " ").title(), key, secret)


ALICE = Person("alice", "Alice")  # the owner: links are made for her
BOB = Person("bob", "Bob")  # the stranger
OLGA = Operator("olga", "correct horse battery staple of olga")

DRIVE_BOT = program("drive-bot")  # Alice's agent
PHOTO_BOT = program("photo-bot")  # another agent, which must see nothing of the first one's
