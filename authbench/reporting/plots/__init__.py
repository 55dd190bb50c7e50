"""Plots as SVG, drawn by code of our own: for the report's page, and as files."""
