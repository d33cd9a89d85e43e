"""Events, feeds, wake-ups and webhooks. Only the Event rows are reliable; everything else is a hint."""

from elicit_flows.events.publish import publish, publish_changed, publish_created

__all__ = ["publish", "publish_changed", "publish_created"]
