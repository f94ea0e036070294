"""The version of the package, stated here only.

The build reads it without importing the package.
"""

__version__ = "0.1.0"
