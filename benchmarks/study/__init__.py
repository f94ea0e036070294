"""A study of the target to learn for a multi-aspect measure, on synthetic and real judgments.

``python -m benchmarks.study`` repeats it and writes ``results.json``, which the page on training
targets reads.
"""

from __future__ import annotations
