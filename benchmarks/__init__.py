"""Benchmarks: ``python -m benchmarks`` prints the table of ratios, ``pytest benchmarks`` checks a small version."""
