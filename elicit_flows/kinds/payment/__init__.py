"""Kind payment: pay, save a card, or subscribe, on the payment provider's own page."""
