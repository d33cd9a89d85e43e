"""The completion queue: publish, wait, feed, deliver. The Event rows are the truth; everything else is a hint."""

from elicit_flows.queue.publish import publish

__all__ = ["publish"]
