"""Django's backend for PostgreSQL with fewer round trips: see base.py, which is where Django looks for it."""
