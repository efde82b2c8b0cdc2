"""How fast lockwatch is, as ratios within one run. `python -m tests.benchmarks`; not part of pytest."""
