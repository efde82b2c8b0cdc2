"""Tests of the dashboard: the model without a terminal, flows with a pilot, escape codes on a pseudo-terminal."""
