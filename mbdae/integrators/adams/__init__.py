"""Adams methods of variable order and step on the underlying ODE, projected after every step."""
