"""What the doubles of payment providers share: idempotency keys, ordered faults, and a record of requests."""
