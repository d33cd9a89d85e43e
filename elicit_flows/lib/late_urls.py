"""Addresses whose module is imported when the first of them is asked for, or linked to."""

from __future__ import annotations

from django.urls import URLResolver
from django.urls.resolvers import RoutePattern


class LateURLs(URLResolver):
    """Everything below ``route``: the ``urlpatterns`` of ``module``, whose names are in ``namespace``."""

    def __init__(self, route: str, module: str, namespace: str) -> None:
        super().__init__(RoutePattern(route), module, app_name=namespace, namespace=namespace)

    def _populate(self) -> None:
        """Nothing. Django calls this for each resolver when any address is looked up by its name, and would import the
        module then. Names of a namespace are looked up in a resolver of their own, which Django makes of the patterns.
        """
