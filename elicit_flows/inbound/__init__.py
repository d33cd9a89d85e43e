"""What payment providers send."""
