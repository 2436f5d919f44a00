"""A world of its own for each test, on a Workgraph stand-in."""

from .stand_in import StandIn
from .world import Refused, World

__all__ = ["Refused", "StandIn", "World"]
