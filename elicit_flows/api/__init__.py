"""What agents call. An edge: parse, call one verb, render."""
