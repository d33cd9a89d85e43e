"""THE LINE: what happens to an elicitation, in the order a request meets it.

asking      create          an agent asks
codes       user_code       the link as a word to be typed, and by_code back again
visiting    look            somebody opens the link; nothing changes
leaving     begin           the right user presses the button and leaves for the provider
polling     shown, poll_due nobody leaves: what our page shows instead, and asking the provider how it stands
choosing    choose          another account came back than was meant, or who knows whose, and they say what is to be
visiting    resume          the browser comes back
            submit          or the right user answers on our own page
windows     shared, save    what a form's page shows of its draft, and what is written there before it is sent
drafting    draft, put      the same for the agent's viewers
            ask_again       the words or the questions change, the answers stay
ending      finish          the outcome and what came with it, all or nothing
            complete        the agent says that a link was done, or sends what its viewers submitted
            decline, cancel, expire, sweep: the ways off
importing   bring           tokens that were connected elsewhere
consuming   consume         the agent acts on what it came to, once
noting      note, add_to_note: what the agent needs to find again, beside its question
paying      where money is asked for: the provider's page, and what became of it
sweeping    payments that nobody waits for: hints, lost answers, refunds
patience    with a payment provider that keeps the sweep waiting
receipts    what was paid, signed
vouching    keep_vouch, take_vouch: a site's word for a browser, single use
sessions    a person's browsers: all of them are signed out at once
telling     everything that is kept about a person
erasing     and all of it gone
moving      what they share: the compare-and-set that is the only writer of a status, and its event; an elicitation
            with steps goes where its current step goes

No transaction is open while the outside is asked.
"""

from elicit_flows.flow.asking import create
from elicit_flows.flow.choosing import choose
from elicit_flows.flow.codes import by_code, user_code
from elicit_flows.flow.consuming import consume
from elicit_flows.flow.drafting import ask_again, draft, put
from elicit_flows.flow.ending import cancel, complete, decline, expire, sweep
from elicit_flows.flow.erasing import ask_to_erase, erasing, sweep_erasures
from elicit_flows.flow.importing import bring, check_brought
from elicit_flows.flow.leaving import begin
from elicit_flows.flow.moving import find
from elicit_flows.flow.noting import add_to_note, note
from elicit_flows.flow.paying import returned
from elicit_flows.flow.polling import Shown, poll_due, shown
from elicit_flows.flow.receipts import PAID, receipt
from elicit_flows.flow.sessions import end_sessions, epoch, forget_passkeys
from elicit_flows.flow.sweeping import sweep_payments
from elicit_flows.flow.telling import about
from elicit_flows.flow.visiting import View, look, resume, submit
from elicit_flows.flow.vouching import keep_vouch, take_vouch
from elicit_flows.flow.windows import filled, save, shared

__all__ = [
    "PAID",
    "Shown",
    "View",
    "about",
    "add_to_note",
    "ask_again",
    "ask_to_erase",
    "begin",
    "bring",
    "by_code",
    "cancel",
    "check_brought",
    "choose",
    "complete",
    "consume",
    "create",
    "decline",
    "draft",
    "end_sessions",
    "epoch",
    "erasing",
    "expire",
    "filled",
    "find",
    "forget_passkeys",
    "keep_vouch",
    "look",
    "note",
    "poll_due",
    "put",
    "receipt",
    "resume",
    "returned",
    "save",
    "shared",
    "shown",
    "submit",
    "sweep",
    "sweep_erasures",
    "sweep_payments",
    "take_vouch",
    "user_code",
]
