"""Long-polls and streams. A waiting request uses a coroutine, and no thread or database connection."""
