"""The payment providers. Another one is a folder and a line in the registry."""
