"""The HTTP API for agents: each view parses a request, calls one function and renders its result."""

import sys
from types import ModuleType

from django.core import signals

# Ninja takes one signal of django.core from django.test, which imports unittest, Jinja and more: 5 MB in every process.
_stand_ins = {} if "django.test" in sys.modules else {"django.test": ModuleType(""), "django.test.signals": signals}
sys.modules.update(_stand_ins)

from ninja import Schema  # noqa: E402
from ninja.params.models import ParamModel  # noqa: E402
from pydantic import BaseModel  # noqa: E402

for _name in _stand_ins:
    del sys.modules[_name]

# Views write their answers as they are, so most shapes only describe. Their validators, which take a third of a
# second to build, are built when they are first needed: for the OpenAPI document. Those of what an operation is asked
# with take 5 MB; they are built when it is first asked.
_shapes: list[type[BaseModel]] = [Schema, *ParamModel.__subclasses__()]
for _shape in _shapes:
    _shape.model_config["defer_build"] = True
