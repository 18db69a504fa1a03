"""Benchmarks: they print ratios against a peer or a rule run beside them and assert nothing."""
