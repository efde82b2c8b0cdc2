"""What was given, as it is: most values need no coercion, and to do one Typer loads pydantic, which takes long."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

C = TypeVar("C", bound=Any)


def sparing(command: C) -> C:
    """The same command, and all below it, which coerce no value that is of its type already, or not there."""
    command.get_params = partial(_sparing, command.get_params)
    for below in getattr(command, "commands", {}).values():
        sparing(below)
    return command


def spare(parameters: list[Any]) -> None:
    """Have a command's parameters coerce no value that is of its type already, or not there."""
    for parameter in parameters:
        parameter.process_value = partial(_processed, parameter)


def _sparing(get_params: Callable[[Any], list[Any]], ctx: Any) -> list[Any]:
    parameters = get_params(ctx)
    spare(parameters)
    return parameters


def _processed(parameter: Any, ctx: Any, value: Any) -> Any:
    if not _is_of_its_type(parameter, value):
        return type(parameter).process_value(parameter, ctx, value)
    return value if parameter.callback is None else parameter.callback(ctx, parameter, value)


def _is_of_its_type(parameter: Any, value: Any) -> bool:
    if value is None:
        return not (parameter.required or parameter.multiple or parameter.nargs != 1)
    return type(value) is getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
