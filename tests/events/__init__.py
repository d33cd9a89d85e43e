"""Webhooks and the feed, tested."""
