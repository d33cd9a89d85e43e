"""Pages for people: each view parses a request, calls one function and renders its result."""
