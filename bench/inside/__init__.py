"""The service's own code in a process of its own: fills databases, makes things happen, times what has no URL."""
