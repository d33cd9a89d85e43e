"""A double of PayPal that works with its own Python library. No real money is involved, and every page says so."""
