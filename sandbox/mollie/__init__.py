"""A double of Mollie that its own Python library talks to. No real money, and it says so everywhere."""
