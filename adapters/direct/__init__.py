"""External solvers called in their compiled libraries: the callbacks, the loop over the steps and the failures that all of them share."""
