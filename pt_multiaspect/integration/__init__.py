"""Integration with ir-measures and PyTerrier: strings, provider, and names in experiments."""
