"""The method of a run chosen from the mechanism, and changed on the way where the choice proves wrong."""
