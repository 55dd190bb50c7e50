"""What a run's items say beyond its cells: distributions, positions, sides, what was kept. Plots draw it."""
