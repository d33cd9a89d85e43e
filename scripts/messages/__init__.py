"""``make messages``: finds the texts that people see, and writes the catalogues of every language.

Nothing but Python is needed. A catalogue has no line numbers and no dates, so that it changes only where a text does.
"""
