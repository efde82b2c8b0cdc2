"""The version, where a build and `lockwatch --version` find it without importing anything else."""

__version__ = "0.1.0"
