"""The waiting plane: long-polls and streams. A waiter costs a coroutine; no thread, no database connection."""
