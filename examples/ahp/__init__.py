"""The pieces of examples/ahp_host.py."""
