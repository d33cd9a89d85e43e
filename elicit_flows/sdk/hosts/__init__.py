"""For clients of MCP 2026-07-28 and tests of servers: tool calls that need input, and are sent again with answers.

Everything is JSON, and the transport is yours: a ``send`` takes a JSON-RPC request and returns the response.
"""

from elicit_flows.sdk.hosts.links import WARNINGS, Link, link
from elicit_flows.sdk.hosts.recording import Diverged, Exchange, Playback, Recorder, replay
from elicit_flows.sdk.hosts.rounds import (
    TooManyRounds,
    Unanswered,
    asked,
    is_input_required,
    retry,
    run,
)
from elicit_flows.sdk.hosts.scripted import Scripted, Unscripted
from elicit_flows.sdk.hosts.terminal import Terminal

__all__ = [
    "WARNINGS",
    "Diverged",
    "Exchange",
    "Link",
    "Playback",
    "Recorder",
    "Scripted",
    "Terminal",
    "TooManyRounds",
    "Unanswered",
    "Unscripted",
    "asked",
    "is_input_required",
    "link",
    "replay",
    "retry",
    "run",
]
