"""Sends the messages that tell people that a request waits for them, or of a charge that they allowed.

``elicitations.notify`` stores a row for each channel with the elicitation or the charge; ``sending`` works on the rows
that are due. A channel (``email``, ``chat``, ``webhook``, ``push``) gets the person's addresses and a ``Message``,
which has nothing of the request or the charge but who asks and the link.
"""

from elicit_flows.notifications.sending import channels_due, due, tell

__all__ = ["channels_due", "due", "tell"]
