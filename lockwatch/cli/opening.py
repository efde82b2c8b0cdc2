"""From what was given to the open database that is meant, with its name in what goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import typer

from lockwatch import settings
from lockwatch.cli.given import Given

if TYPE_CHECKING:
    from lockwatch.core.service import LockService
    from lockwatch.database import Database
    from lockwatch.settings import Target

_NOTHING_IS_WRITTEN: Final = "what asks here writes nothing"


def chosen(ctx: typer.Context, database: str | None, on: str | None) -> Target:
    """The database that is meant by what was given after the verb, before it, and nowhere.

    Raises:
        ValidationError: a flag or a variable breaks a rule.
        ConfigError: `config.toml` does.
        PasswordError: there is no password where it was to be.
    """
    before: Given = ctx.obj
    return unlocked(choose(Given(database=database, on=on).over(before)))


def choose(given: Given) -> Target:
    """The database that is meant, yet without its password. Raises as `chosen` does."""
    return settings.choose(
        database=given.database, on=given.on, read_only=given.read_only, ask_password=bool(given.ask_password)
    )


def unlocked(target: Target) -> Target:
    """The same with its password; nobody is asked to type one for a URL that breaks a rule. Raises as `chosen` does."""
    if target.asks_password:
        locate(target)
    return settings.unlocked(target)


def locate(target: Target) -> Database:
    """The database itself, not opened.

    Raises:
        ValidationError: its URL or its password breaks a rule.
        ConfigError: the URL does, and is in `config.toml`.
    """
    from lockwatch import database
    from lockwatch.config import ConfigError
    from lockwatch.core.errors import ValidationError

    try:
        return database.locate(target.url, target.password)
    except ValidationError as error:
        if target.named is None or error.argument == "password":
            raise
        key = f"databases.{target.named.name}.url"
        raise ConfigError(target.config.path, key, error.rule, str(error.given)) from None


def why_to_read(target: Target) -> str | None:
    """Why who writes nothing opens it to read only; None if as any other. No server is asked for that."""
    return target.read_only or _NOTHING_IS_WRITTEN if locate(target).is_server else why_only_read(target)


def why_only_read(target: Target) -> str | None:
    """Why nothing may or can be written to it; None if it can.

    Raises:
        DatabaseError: it cannot be reached to be asked.
    """
    if target.read_only:
        return target.read_only
    with named(target):
        return locate(target).why_unwritable()


@contextmanager
def named(target: Target) -> Iterator[None]:
    """Within, an error of the database says which one it is, and so do the commands that it recommends."""
    from lockwatch.core.errors import DatabaseError

    name = locate(target).name
    try:
        yield
    except DatabaseError as error:
        words = str(error) if name in str(error) else f"{name}: {error}"
        raise type(error)(repeating(words, target)) from error


def repeating(words: str, target: Target) -> str:
    """The same, with the flag that chose the database in the commands that are recommended."""
    return words.replace("`lockwatch ", f"`lockwatch {target.flag} ") if target.flag else words


@contextmanager
def open_to_read(ctx: typer.Context, database: str | None, on: str | None) -> Iterator[LockService]:
    """A lock service on the chosen database for a verb that writes nothing, also where nothing can be written."""
    from lockwatch.database import connect

    target = chosen(ctx, database, on)
    why = why_to_read(target)
    with named(target), connect(target.url, read_only=why or False, password=target.password) as service:
        yield service


@contextmanager
def open_to_write(ctx: typer.Context, database: str | None, on: str | None) -> Iterator[LockService]:
    """A lock service on the chosen database for a verb that writes.

    Raises:
        ReadOnlyError: nothing may be written to it.
    """
    from lockwatch.database import connect

    target = chosen(ctx, database, on)
    why = target.read_only
    with named(target), connect(target.url, read_only=why or False, password=target.password) as service:
        service.require_writable()
        yield service
