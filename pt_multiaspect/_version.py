"""The version of the package. It is stated here only; the build reads it without importing the package."""

__version__ = "0.1.0"
