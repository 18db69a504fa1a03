"""What a run returns: status, statistics, trajectory, solution; dense output and events."""
