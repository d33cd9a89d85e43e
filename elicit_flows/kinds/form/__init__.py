"""Kind form: questions whose answers the agent may see."""
