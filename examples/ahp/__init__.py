"""The modules of examples/ahp_host.py."""
