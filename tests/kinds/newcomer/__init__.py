"""A kind that the service does not have: ``test_newcomer.py`` adds it to a copy of the project."""
