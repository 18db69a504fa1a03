"""The contract of methods, callbacks for external solvers, runs and restarts."""
