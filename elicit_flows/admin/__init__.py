"""For operators: what they configured, what is going on, and what they did."""
