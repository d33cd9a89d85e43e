"""A user of the double: the methods of ``ScriptedUser``, without pages."""

from __future__ import annotations

from elicit_flows.domain.values import Claim, Json
from elicit_flows.sdk.testing.double.forms import filled_in, there
from elicit_flows.sdk.testing.double.state import Asked, State, connected
from elicit_flows.sdk.testing.user import ActingUser, Answer

TYPED = "confirm"  # the word that a dangerous confirmation asks for
PAID = ("pay", "pay_3ds", "pay_bank")
WITHOUT_RESULT = ("continue", "deny", "pay_declined", "back")
OFFERED = {
    "oauth": ("continue", "allow", "deny"),
    "payment": ("continue", *PAID, "pay_declined", "back"),
    "link": ("continue", "submit"),
}  # the other kinds: submit


class DoubleUser(ActingUser):
    """A user whom the agent may ask. Each method takes a link and does what a person would do behind it.

    Raises AssertionError for what the question does not offer: also for somebody else's link, and one that is over.
    """

    def __init__(self, state: State, claim: Claim) -> None:
        self._state = state
        self.claim = claim
        self.name = claim.sub

    def go(self, url: str, *actions: str, **answers: Answer) -> None:
        """Do ``actions`` one after the other, the last one with ``answers``."""
        *earlier, last = actions
        for action in earlier:
            self._act(url, action, {})
        self._act(url, last, answers)

    def close(self) -> None:
        """Do nothing; it has no connections."""

    def _act(self, url: str, action: str, answers: dict[str, Answer]) -> None:
        with self._state.changed:
            asked = self._state.find(url.rpartition("/")[2])
            mine = asked.body["subject"] == {"iss": self.claim.iss, "sub": self.claim.sub}
            if asked.over or not mine:
                raise AssertionError(f"{url} offers nothing, not {action}")
            if action == "decline":
                self._state.end(asked, "declined")
                return
            self._check_offered(asked, action)
            result = None if action in WITHOUT_RESULT else self._result(asked, action, answers)
            if result is None and action not in WITHOUT_RESULT:
                return  # the page comes again
            self._state.start(asked)
            if action == "deny":
                self._state.settle(asked)
                self._state.end(asked, "declined")
            elif result is not None:
                self._state.advance(asked, result)

    def _check_offered(self, asked: Asked, action: str) -> None:
        kind = asked.step["kind"]
        if action not in OFFERED.get(kind, ("submit",)):
            raise AssertionError(f"This {kind} does not offer {action}")

    def _result(self, asked: Asked, action: str, answers: dict[str, Answer]) -> Json | None:
        """What the step leads to; None if the page would come again, with what is wrong."""
        kind, params = asked.step["kind"], asked.step["params"]
        if kind == "oauth":
            return connected(self._state.connect(asked))
        if kind == "payment":
            return self._state.pay(asked)
        if kind == "credentials":
            return self._keys(asked, answers)
        if kind == "form":
            return filled_in(params, answers)
        dangerous = kind == "confirm" and params["danger"]
        for name in answers:
            there(name, ["typed"] if dangerous else [])
        if kind in ("link", "x402"):
            return self._state.agree(asked).result if kind == "x402" else {}
        right = not dangerous or str(answers.get("typed", "")).casefold() == TYPED
        return {"confirmed": True} if right else None

    def _keys(self, asked: Asked, answers: dict[str, Answer]) -> Json | None:
        wanted = [field["name"] for field in asked.step["params"].get("fields") or ()] or list(answers)
        for name in answers:
            there(name, wanted)
        if not all(answers.get(name) for name in wanted):
            return None
        connection = self._state.connect(asked, {name: str(answers[name]) for name in wanted})
        return {"connection": connection["id"]}
