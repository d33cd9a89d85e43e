"""Kind confirm: yes or no to exactly what is said."""

from elicit_flows.kinds.confirm.kind import Confirm

__all__ = ["Confirm"]
