"""Serialisation of plans for other processes."""

from __future__ import annotations

import hashlib
import pickle

import numpy as np
from numpy.typing import NDArray

from ..bases.pickling import pickled
from .plan import Plan

#: Plans by key: those that this process created or received.
_plans: dict[str, Plan] = {}

#: The maximum number of plans that a process keeps.
_MOST_PLANS = 2


def pack_plan(plan: Plan) -> tuple[str, NDArray[np.uint8]]:
    """Return a key and the bytes of a plan.

    The bytes are an array, which joblib sends to each worker only once. Measures that are defined in a
    notebook or script are sent with their code.
    """
    content = pickled(plan)
    key = hashlib.sha256(content).hexdigest()
    _keep(key, plan)
    return key, np.frombuffer(content, dtype=np.uint8)


def unpack_plan(key: str, content: NDArray[np.uint8] | bytes) -> Plan:
    """Return a plan, restored once per process."""
    plan = _plans.get(key)
    if plan is None:
        plan = pickle.loads(content if isinstance(content, bytes) else content.data)
        _keep(key, plan)
    return plan


def forget_plan(key: str) -> None:
    """Remove a plan from those that this process keeps."""
    _plans.pop(key, None)


def _keep(key: str, plan: Plan) -> None:
    _plans[key] = plan
    for earlier in list(_plans)[:-_MOST_PLANS]:  # threads of the caller may add and remove others meanwhile
        _plans.pop(earlier, None)
