"""authbench: how well language models perceive the authority of sources, and rerank by their confidence."""

__version__ = "0.1.0"
