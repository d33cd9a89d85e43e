"""A double of Stripe that works with the unmodified SDK. No real money is involved, and every page says so."""
