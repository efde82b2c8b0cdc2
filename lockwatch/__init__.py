"""Advisory locks with a TTL in a table of your own SQL database, and a terminal dashboard to watch and settle them.

```python
import lockwatch

with lockwatch.connect() as service:
    lock = service.acquire("plan", "p1", "worker-1", ttl_seconds=60)
    ...
    service.release("plan", "p1", "worker-1")
```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lockwatch.core.errors import (
        DatabaseBusyError,
        DatabaseError,
        LockConflictError,
        LockExpiredError,
        LockwatchError,
        LossReason,
        ReadOnlyError,
        ValidationError,
    )
    from lockwatch.core.lease import Lease
    from lockwatch.core.loss import Loss
    from lockwatch.core.model import (
        DEFAULT_LOCK_TTL_SECS,
        MAX_LOCK_TTL_SECS,
        MIN_LOCK_TTL_SECS,
        Lock,
        LockSnapshot,
        Outcome,
        OutcomeKind,
    )
    from lockwatch.core.service import LockService
    from lockwatch.core.watcher import Watcher
    from lockwatch.database import connect, upgrade
    from lockwatch.plans.errors import PlanConstrainedError, PlanExistsError, PlanNotFoundError, PlanTransitionError
    from lockwatch.plans.service import PlanLifecycleService
    from lockwatch.runtime import LockRuntime

__all__ = [
    "DEFAULT_LOCK_TTL_SECS",
    "MAX_LOCK_TTL_SECS",
    "MIN_LOCK_TTL_SECS",
    "DatabaseBusyError",
    "DatabaseError",
    "Lease",
    "Lock",
    "LockConflictError",
    "LockExpiredError",
    "LockRuntime",
    "LockService",
    "LockSnapshot",
    "LockwatchError",
    "Loss",
    "LossReason",
    "Outcome",
    "OutcomeKind",
    "PlanConstrainedError",
    "PlanExistsError",
    "PlanLifecycleService",
    "PlanNotFoundError",
    "PlanTransitionError",
    "ReadOnlyError",
    "ValidationError",
    "Watcher",
    "connect",
    "upgrade",
]

# Names are looked up where they are defined when they are first used: `lockwatch --help` needs no database.
_MODULES: Final = (
    "lockwatch.core.errors",
    "lockwatch.core.model",
    "lockwatch.core.lease",
    "lockwatch.core.loss",
    "lockwatch.core.service",
    "lockwatch.database",
    "lockwatch.plans.errors",
    "lockwatch.plans.service",
    "lockwatch.runtime",
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in map(import_module, _MODULES):
            if hasattr(module, name):
                globals()[name] = getattr(module, name)  # the next look-up is a plain one
                return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
