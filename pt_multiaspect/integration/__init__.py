"""The doors to ir-measures and PyTerrier: measure strings, the provider, names in experiments."""
