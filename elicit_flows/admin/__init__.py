"""The pages of operators: Django's admin with a second factor, an audit log, alerts and statistics."""
