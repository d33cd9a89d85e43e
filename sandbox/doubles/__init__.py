"""What the doubles of payment providers have in common: keys for repeated requests, faults on order, what was seen."""
