"""What OpenAPI says of kind rating: these stand in ``elicit_flows/api/kind_shapes.py``."""

from __future__ import annotations

from ninja import Schema

from elicit_flows.api.schemas import Strict


class RatingParams(Strict):
    of: str


class RatingAsked(Schema):
    of: str


class RatingResult(Schema):
    stars: int
