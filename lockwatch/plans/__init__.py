"""Plans that go through phases, each transition under the plan's lock.

from lockwatch import plans

with plans.connect() as service:
    plan = service.create("import customers", "shop")
    service.advance(plan.id)
    service.run_phase(plan.id, work)
"""

from lockwatch.plans.connecting import connect
from lockwatch.plans.errors import PlanConstrainedError, PlanExistsError, PlanNotFoundError, PlanTransitionError
from lockwatch.plans.leases import PlanLease
from lockwatch.plans.model import Phase, Plan, PlanRun, PlanState, RunOutcome, Stage
from lockwatch.plans.service import PlanLifecycleService
from lockwatch.plans.transitions import Operation

__all__ = [
    "Operation",
    "Phase",
    "Plan",
    "PlanConstrainedError",
    "PlanExistsError",
    "PlanLease",
    "PlanLifecycleService",
    "PlanNotFoundError",
    "PlanRun",
    "PlanState",
    "PlanTransitionError",
    "RunOutcome",
    "Stage",
    "connect",
]
