"""Integration with ir-measures and PyTerrier: measure strings, provider, and names in experiments."""
