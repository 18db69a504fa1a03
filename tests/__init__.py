"""The tests mirror the modules of the package; `helpers` holds the mechanisms that several of them share."""
