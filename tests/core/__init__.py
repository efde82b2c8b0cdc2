"""Tests of the lock core."""
