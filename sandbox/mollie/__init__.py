"""A double of Mollie that works with its own Python library. No real money is involved, and every page says so."""
