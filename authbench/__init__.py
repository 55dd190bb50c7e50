"""authbench: how well language models perceive the authority of sources, and rerank by their confidence."""

__version__ = "0.1.0"

#: Version of the layout of a run's three files.
RESULTS_FORMAT = 1
