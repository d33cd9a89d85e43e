"""Values, errors and states: plain Python that every other package may import, the SDK included."""
