"""`config.toml`: databases by name, and what people like. What is not understood there is an error, never passed over.

Every error names the file, the key, what was given and the rule. A URL may hold a password: it is never repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from lockwatch.core.errors import LockwatchError
from lockwatch.core.model import is_number
from lockwatch.core.text import clean, shorten

MIN_INTERVAL_SECS: Final = 0.1
MAX_INTERVAL_SECS: Final = 3600.0
"""Bounds of the time between two looks of the dashboard, in seconds."""
COLOURS: Final = ("red", "orange", "yellow", "green", "blue", "purple", "grey")
"""What a label may be painted in."""
MAX_LABEL_CELLS: Final = 12
"""Widest label, in cells of a terminal."""
MAX_FILE_BYTES: Final = 1 << 20
"""Longest file that is read."""
_MAX_NAME_LENGTH: Final = 64


class ConfigError(LockwatchError):
    """Something in `config.toml`, or in a file that it names, breaks a rule; nothing was done."""

    exit_code = 2

    def __init__(self, path: Path, key: str, rule: str, given: str = "") -> None:
        super().__init__(path, key, rule, given)
        self.path = path
        self.key = key
        self.rule = rule
        self.given = given

    def __str__(self) -> str:
        where = f"{self.path}: {self.key}: " if self.key else f"{self.path}: "
        return clean(f"{where}{self.rule}{f'; got {self.given}' if self.given else ''}")


class UnfitError(Exception):
    """A value breaks `rule`; `given` is what may be said of it."""

    def __init__(self, rule: str, given: str) -> None:
        super().__init__(rule, given)
        self.rule = rule
        self.given = given


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedDatabase:
    """One of `[databases]`. None: not said there. `interval` in seconds, `colour` one of `COLOURS`, or empty."""

    name: str
    url: str = field(repr=False)
    label: str = ""
    colour: str = ""
    interval: float | None = None
    read_only: bool | None = None
    password_file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the file at `path` says; nothing, if there is none. `default` names one of the databases."""

    path: Path
    default: str | None = None
    interval: float | None = None
    theme: str | None = None
    read_only: bool | None = None
    databases: Mapping[str, NamedDatabase] = field(default_factory=dict)


def load(path: Path) -> Config:
    """What a file says.

    Raises:
        ConfigError: it cannot be read, or something in it breaks a rule.
    """
    table = _parse(path)
    given = _checked(path, "", table, {**_TOP, "databases": _table})
    named = {name: _database(path, name, value) for name, value in given.pop("databases", {}).items()}
    default = given.get("default")
    if default is not None and default not in named:
        rule = f"must be one of the databases that the file names: {', '.join(named) or 'there is none'}"
        raise ConfigError(path, "default", rule, _shown(default))
    return Config(path=path, databases=named, **given)


def check_interval(value: object) -> float:
    """A time between two looks, in seconds; UnfitError if it is none."""
    rule = f"must be a number of seconds from {MIN_INTERVAL_SECS:g} to {MAX_INTERVAL_SECS:g}"
    if not is_number(value, MIN_INTERVAL_SECS, MAX_INTERVAL_SECS):
        raise UnfitError(rule, _shown(value))
    return float(value)


def check_name(value: object) -> str:
    """What a theme or a database may be called; UnfitError if nothing could be."""
    rule = f"must be a name of at most {_MAX_NAME_LENGTH} characters, without blanks, and with no dash before it"
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_NAME_LENGTH:
        raise UnfitError(rule, _shown(value))
    if clean(value) != value or any(map(str.isspace, value)) or value.startswith("-"):
        raise UnfitError(rule, _shown(value))
    return value


def without_password(url: str) -> str:
    """A URL as it may be shown: clean, without its password and its parameters, where a password may be, too."""
    scheme, slashes, rest = url.partition("://")
    if not slashes:
        return "…" if "@" in url or "=" in url else clean(url)
    address, question, after = rest.partition("?")
    if "@" in after:  # is what comes before it a password with a question mark, or all of it a parameter?
        return clean(f"{scheme}://…")
    if not address.startswith("/"):
        user, at, place = address.rpartition("@")
        address = user.partition(":")[0] + at + place
    return clean(f"{scheme}://{address}{'?…' if question else ''}")


def _database(path: Path, name: str, value: object) -> NamedDatabase:
    key = f"databases.{shorten(name, _MAX_NAME_LENGTH)}"
    try:
        check_name(name)
        given = _checked(path, f"{key}.", _table(value), _DATABASE)
    except UnfitError as unfit:
        raise ConfigError(path, key, unfit.rule, unfit.given) from None
    if "url" not in given:
        raise ConfigError(path, f"{key}.url", "is missing: every database has one")
    if "password_file" in given:
        given["password_file"] = path.parent / given["password_file"]
    return NamedDatabase(name=name, **given)


def _checked(path: Path, prefix: str, table: Mapping[str, object], rules: Mapping[str, _Rule]) -> dict[str, Any]:
    """A table's values, each checked by the rule of its key."""
    given = {}
    for name, value in table.items():
        key = prefix + shorten(name, _MAX_NAME_LENGTH)
        if name not in rules:
            raise ConfigError(path, key, f"there is no such key; those that there are: {', '.join(rules)}")
        try:
            given[name] = rules[name](value)
        except UnfitError as unfit:
            raise ConfigError(path, key, unfit.rule, unfit.given) from None
    return given


def _parse(path: Path) -> dict[str, Any]:
    import tomllib  # late: few have such a file

    try:
        with path.open("rb") as file:
            written = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(path, "", f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(written) > MAX_FILE_BYTES:
        raise ConfigError(path, "", f"is longer than {MAX_FILE_BYTES} bytes")
    try:
        return tomllib.loads(written.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ConfigError(path, "", "is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(path, "", f"is not TOML: {shorten(str(error), 120)}") from None


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnfitError("must be a table, like [databases.prod]", _kind(value))
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise UnfitError("must be true or false", _shown(value))
    return value


def _url(value: object) -> str:
    rule = "must be a URL, like postgresql://app@db1/orders or sqlite:////srv/locks.db"
    if not isinstance(value, str):
        raise UnfitError(rule, _kind(value))
    if "://" not in value or not value.isprintable():
        raise UnfitError(rule, without_password(value) or "nothing")
    return value


def _label(value: object) -> str:
    from lockwatch.cells import width  # late: few have a label

    rule = f"must be text of at most {MAX_LABEL_CELLS} cells that a terminal shows as it is, with no blanks at its ends"
    if not isinstance(value, str) or clean(value) != value or value.strip() != value:
        raise UnfitError(rule, _shown(value))
    if not value or width(value) > MAX_LABEL_CELLS:
        raise UnfitError(rule, _shown(value))
    return value


def _colour(value: object) -> str:
    if not isinstance(value, str) or value not in COLOURS:
        raise UnfitError(f"must be one of {', '.join(COLOURS)}", _shown(value))
    return value


def _file(value: object) -> Path:
    rule = "must be the path of a file"
    if not isinstance(value, str) or not value.isprintable() or not value:
        raise UnfitError(rule, _kind(value))
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise UnfitError(f"{rule}; nobody here has that home folder", _shown(value)) from None


def _shown(value: object) -> str:
    """A value in few words, if it holds no secret."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value.bit_length() > _MAX_NAME_LENGTH:
        return "a huge number"  # Python may refuse to write it out
    return shorten(repr(value), _MAX_NAME_LENGTH) if isinstance(value, str | int | float) else _kind(value)


def _kind(value: object) -> str:
    """What kind of value it is, for one that may hold a secret."""
    kinds = {bool: "a truth value", int: "a whole number", float: "a number", str: "text", list: "an array"}
    return kinds.get(type(value), "a table" if isinstance(value, dict) else "a date or a time")


_Rule: TypeAlias = Callable[[object], Any]
_TOP: Final[dict[str, _Rule]] = {
    "default": check_name,
    "interval": check_interval,
    "theme": check_name,
    "read_only": _truth,
}
_DATABASE: Final[dict[str, _Rule]] = {
    "url": _url,
    "label": _label,
    "colour": _colour,
    "read_only": _truth,
    "password_file": _file,
    "interval": check_interval,
}
