"""Removes the defences one at a time: each edit in these tables must make a test of its threat fail."""
