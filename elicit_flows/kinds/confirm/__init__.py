"""Kind confirm: a yes or a no to a stated action."""
