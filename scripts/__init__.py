"""Commands of those who maintain the project: ``make release`` and ``make test-pythons``."""
