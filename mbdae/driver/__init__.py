"""What runs a method: its contract, the callbacks of external solvers, restarts."""
