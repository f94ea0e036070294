"""Which target a ranker should learn for a multi-aspect measure: a study on synthetic and real judgments.

``python -m benchmarks.study`` repeats it and writes ``results.json``, which the page on training targets reads.
"""

from __future__ import annotations
