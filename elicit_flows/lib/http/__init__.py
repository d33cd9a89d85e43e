"""Requests to other people's servers: guarded, synchronous, safe from many threads.

``send`` refuses every destination that is not on the public internet, ends at its deadline whatever the other side
does, follows no redirect, keeps no cookie and reads no proxy from the environment.
"""

from elicit_flows.lib.http.client import Reply, send
from elicit_flows.lib.http.errors import Refused, Unreachable
from elicit_flows.lib.http.policy import Policy, configure, policy
from elicit_flows.lib.http.urls import check_url, is_loopback_name

__all__ = ["Policy", "Refused", "Reply", "Unreachable", "check_url", "configure", "is_loopback_name", "policy", "send"]
