"""`python -m lockwatch`."""

from __future__ import annotations

import sys

from lockwatch.cli import main

if __name__ == "__main__":
    sys.exit(main())
