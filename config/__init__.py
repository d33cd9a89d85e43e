"""The settings and the entry points. Whatever starts a process of the service imports this package first."""

import gc

# Importing makes a quarter of a million objects and next to no garbage. With Python's threshold of 700 the collector
# visits them so often that it takes a tenth of the time. elicit_flows/lib/gc_tuning.py sets what a server runs with.
gc.set_threshold(50_000, 20, 100)
