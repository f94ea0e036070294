"""Integration with ir-measures and PyTerrier: measure strings, the provider, names in experiments."""
