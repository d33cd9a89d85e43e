"""A double of Stripe that the unmodified SDK talks to. No real money, no real card, and it says so everywhere."""
