"""An agent on the client that openapi-python-client makes: it asks, and prints what became of it."""

from __future__ import annotations

import json
import os

from client import AuthenticatedClient
from client.api.agent import agent_get
from client.api.elicitations import elicitations_complete, elicitations_create, elicitations_get
from client.api.events import events_list_all
from client.models.complete import Complete
from client.models.complete_answers_type_0 import CompleteAnswersType0
from client.models.confirm_elicitation import ConfirmElicitation
from client.models.confirm_params import ConfirmParams
from client.models.create_confirm import CreateConfirm
from client.models.create_form import CreateForm
from client.models.create_o_auth import CreateOAuth
from client.models.draft_answer import DraftAnswer
from client.models.draft_answer_state import DraftAnswerState
from client.models.elicitation_completed_event import ElicitationCompletedEvent
from client.models.event_list import EventList
from client.models.form_elicitation import FormElicitation
from client.models.o_auth_elicitation import OAuthElicitation
from client.models.o_auth_params import OAuthParams
from client.models.problem import Problem
from client.models.questions_form import QuestionsForm
from client.models.status import Status
from client.models.subject import Subject
from client.models.text_question import TextQuestion
from client.models.this_agent import ThisAgent

client = AuthenticatedClient(base_url=os.environ["ELICIT_URL"], token=os.environ["ELICIT_API_KEY"])
alice = Subject(iss=os.environ["ISS"], sub="alice")
said: list[str] = []

me = agent_get.sync(client=client)
assert isinstance(me, ThisAgent)
said.append(me.kinds[0].value)

drive = OAuthParams(provider="drive", scopes=["files.read"])
asked = elicitations_create.sync(
    client=client, body=CreateOAuth(kind="oauth", subject=alice, message="To list your files.", params=drive)
)
assert isinstance(asked, OAuthElicitation)
said.append(f"{asked.kind} {asked.status.value} {asked.params.provider} {asked.result}")

confirm = elicitations_create.sync(
    client=client,
    body=CreateConfirm(kind="confirm", subject=alice, message="Really?", params=ConfirmParams(danger=True)),
)
assert isinstance(confirm, ConfirmElicitation)
said.append(f"{confirm.kind} {confirm.params.danger}")

wrong = elicitations_create.sync(
    client=client,
    body=CreateOAuth(kind="oauth", subject=alice, message="?", params=OAuthParams(provider="no-such-provider")),
)
assert isinstance(wrong, Problem)
assert not isinstance(wrong.errors, type(None))
said.append(f"{wrong.code.value} {wrong.status}")

question = TextQuestion(id="name", kind="text", message="What shall it be called?", required=True)
form = elicitations_create.sync(
    client=client,
    body=CreateForm(kind="form", subject=alice, message="For the project.", params=QuestionsForm(questions=[question])),
)
assert isinstance(form, FormElicitation)
given = CompleteAnswersType0()
given["name"] = DraftAnswer(state=DraftAnswerState.SUBMITTED, value="Atlas")
elicitations_complete.sync(form.id, client=client, body=Complete(answers=given))
over = elicitations_get.sync(form.id, client=client, wait=5, after_seq=1)
assert isinstance(over, FormElicitation)
assert over.status is Status.COMPLETED
assert over.result is not None
said.append(str(over.result.content["name"]))

events = events_list_all.sync(client=client)
assert isinstance(events, EventList)
last = events.data[-1]
assert isinstance(last, ElicitationCompletedEvent)
said.append(f"{last.type_} {last.data.id == form.id}")
print(json.dumps(said))
