"""The stages of an elicitation, in the order in which they are reached.

creation              create: an agent asks a person for something; create_together: several at once
user_codes            the link as a short code that can be typed
variables             what only the person knows of a provider's addresses: proposed by agents, asked of the person
connect               look: somebody opens the link, nothing changes; begin: the right user leaves for the provider
device_grant          nobody leaves: the page shows a user code, and the worker asks the provider how it stands
callback              resume: the browser comes back; submit: the right user answers on our own page; finish: what
                      came of it; choose: another account came back than was expected, and the user decides
form_drafts           what a form's page and the agent's viewers see of answers that are not sent yet, and may change
managed               the person's organisation has decided, and nobody leaves for a provider
outcomes              complete, decline, cancel, expire; consume: the agent claims the result, once
connection_import     tokens that were granted elsewhere
notify                the person is told that it waits for them
notes                 data that the agent stores with its elicitation
payment               the provider's checkout page, and the result of the payment
mandates              charges under a mandate, and its end
method_replacement    another payment method for what goes on
price_change          another price of a running subscription
payment_cancellation  ending or keeping a subscription, and removing a saved payment method
payment_sweep         the worker's part of payments: webhooks, open checkouts, cancellations, refunds
receipts              signed receipts for payments
multi_step            several questions in one elicitation
agent_access          which identity providers, providers and payment accounts an agent may use
transitions           the only writer of a status (compare-and-set plus event), and helpers that all stages share

No transaction is open while another server is called.
"""

from elicit_flows.elicitations.callback import choose, resume, submit
from elicit_flows.elicitations.connect import Given, View, begin, look
from elicit_flows.elicitations.connection_import import check_import, import_connection
from elicit_flows.elicitations.creation import create, create_together
from elicit_flows.elicitations.device_grant import DevicePrompt, Polls, device_prompt
from elicit_flows.elicitations.form_drafts import (
    ask_again,
    page_controls,
    page_draft,
    put_draft_answer,
    read_draft,
    save_page,
)
from elicit_flows.elicitations.managed import SignInAgain, connect_at_once
from elicit_flows.elicitations.mandates import charge_mandate, end_mandate, own_mandate, refuse_charge
from elicit_flows.elicitations.method_replacement import can_replace_method, replace_method
from elicit_flows.elicitations.notes import change_note, read_note
from elicit_flows.elicitations.outcomes import cancel, complete, consume, decline, expire, sweep
from elicit_flows.elicitations.payment import back_from_checkout
from elicit_flows.elicitations.payment_cancellation import cancel_payment, cancel_subscription, resume_subscription
from elicit_flows.elicitations.payment_sweep import follow_up, payment_accounts_due, payments_due
from elicit_flows.elicitations.receipts import has_receipt, mandate_document, receipt
from elicit_flows.elicitations.transitions import find, suggested_locale
from elicit_flows.elicitations.user_codes import (
    create_user_code,
    persons_code,
    redeem_user_code,
    replace_persons_code,
)
from elicit_flows.elicitations.variables import NotShownYet
from elicit_flows.elicitations.variables import from_form as variables_from_form

__all__ = [
    "DevicePrompt",
    "Given",
    "NotShownYet",
    "Polls",
    "SignInAgain",
    "View",
    "ask_again",
    "back_from_checkout",
    "begin",
    "can_replace_method",
    "cancel",
    "cancel_payment",
    "cancel_subscription",
    "change_note",
    "charge_mandate",
    "check_import",
    "choose",
    "complete",
    "connect_at_once",
    "consume",
    "create",
    "create_together",
    "create_user_code",
    "decline",
    "device_prompt",
    "end_mandate",
    "expire",
    "find",
    "follow_up",
    "has_receipt",
    "import_connection",
    "look",
    "mandate_document",
    "own_mandate",
    "page_controls",
    "page_draft",
    "payment_accounts_due",
    "payments_due",
    "persons_code",
    "put_draft_answer",
    "read_draft",
    "read_note",
    "receipt",
    "redeem_user_code",
    "refuse_charge",
    "replace_method",
    "replace_persons_code",
    "resume",
    "resume_subscription",
    "save_page",
    "submit",
    "suggested_locale",
    "sweep",
    "variables_from_form",
]
