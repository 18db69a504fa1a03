"""The exception for invalid input."""


class Refusal(ValueError):
    """Invalid input; only its message is shown."""
