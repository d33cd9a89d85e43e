"""The benchmarks: every row of the goals that the service has reached, both sides measured in one run, interleaved."""
