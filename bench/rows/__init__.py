"""One module a row of the goals: ``TITLE`` and ``measure(ground, plan)``, which yields what it found."""
