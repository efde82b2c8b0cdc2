"""Tests of lockwatch, in the folders of what they test."""
