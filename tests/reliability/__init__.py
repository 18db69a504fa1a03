"""The fault matrix: every fault in every method, `python -m tests.reliability`; its table is docs/reliability.md."""
