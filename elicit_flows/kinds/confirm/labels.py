"""Whether a button's label says the opposite of what the button does (T135).

The page puts "Yes: " and "No: " before the labels, so a label is refused only if it is itself a no on the yes button,
or a yes on the no button. Some words count wherever they stand ("No, keep them"), others only alone ("Cancel", "Cancel
it"). "Cancel the subscription" is an action and allowed. Look-alike letters count as what they look like.
"""

from __future__ import annotations

import re

from elicit_flows.lib import confusables

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


# These count wherever they stand.
_NO = _words("no not nope never none don't dont nein nicht non ne nie нет не nej нi nao não")
_YES = _words("yes yep yeah sure ja jawohl oui si sí да sim tak yea")
_NO_SIGNS, _YES_SIGNS = frozenset("✗✘❌✖✕🚫⛔👎❎"), frozenset("✓✔✅👍☑🆗")
# These count alone, or with nothing but words of _BESIDE.
_NO_ALONE = _words(
    "cancel abort decline deny reject refuse dismiss stop close skip back exit quit leave keep later ignore forbid "
    "disagree abbrechen ablehnen annuler refuser cancelar rechazar annulla rifiuta annuleren weigeren отмена"
)
_YES_ALONE = _words(
    "ok okay confirm accept agree approve allow continue proceed go permit authorize authorise submit done do "
    "bestatigen akzeptieren weiter accepter confirmer continuer aceptar confirmar continuar accetta conferma doorgaan"
)
_BESIDE = _words(
    "it this that them all everything now please and the on ahead mind away i my me here go request is out"
)


def says_no(label: str) -> bool:
    """Whether the label of the yes button says no."""
    return _says(label, _NO, _NO_ALONE, _NO_SIGNS) or confusables.folded(label).startswith("never mind")


def says_yes(label: str) -> bool:
    """Whether the label of the no button says yes."""
    return _says(label, _YES, _YES_ALONE, _YES_SIGNS)


def _says(label: str, anywhere: frozenset[str], alone: frozenset[str], signs: frozenset[str]) -> bool:
    if signs & set(label):
        return True
    written = confusables.joined(label.replace("\u2019", "'"))
    for read in (confusables.folded, confusables.skeleton):
        words = set(_WORD.findall(read(written)))
        if words & anywhere or (words & alone and not words - alone - _BESIDE):
            return True
    return False
