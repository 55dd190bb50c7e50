"""What the benchmarks of engines share; none of these is a benchmark itself."""
