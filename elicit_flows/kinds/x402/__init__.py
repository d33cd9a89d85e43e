"""Kind x402: the user agrees that an HTTP 402 is paid from a wallet of the operator's."""
