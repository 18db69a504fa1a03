"""Specialised partitioned additive Runge-Kutta methods: the Lobatto IIIA-IIIB pair, and Gauss with Lobatto."""
