"""Settings: the only place that reads the environment, and that weighs it against flags and `config.toml`.

Strongest first: a flag, the environment, what `config.toml` says of the database, what it says of all, the default.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Final

from lockwatch.config import Config, NamedDatabase, UnfitError, check_interval, check_name, load, without_password
from lockwatch.core.errors import ValidationError
from lockwatch.core.model import known_types
from lockwatch.core.text import clean

DATABASE_URL: Final = "LOCKWATCH_DATABASE_URL"
ON: Final = "LOCKWATCH_ON"
RESOURCE_TYPES: Final = "LOCKWATCH_RESOURCE_TYPES"
CONFIG: Final = "LOCKWATCH_CONFIG"
INTERVAL: Final = "LOCKWATCH_INTERVAL"
READ_ONLY: Final = "LOCKWATCH_READ_ONLY"
THEME: Final = "LOCKWATCH_THEME"
PASSWORD: Final = "LOCKWATCH_PASSWORD"  # noqa: S105  # nosec B105 its name

DEFAULT_INTERVAL_SECS: Final = 1.0
"""Time between two looks of the dashboard, if nothing else is said."""
_YES: Final = ("1", "true", "yes", "on")
_NO: Final = ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The database that was chosen: by its `url`, or the `named` one of `config`, or neither: the default file.

    `read_only` is why nothing may be written to it, in words fit for a screen. `asks_password`: a person is to type it.
    `password` is what `unlocked` found, for a URL that has none.
    """

    config: Config
    named: NamedDatabase | None = None
    given_url: str | None = None
    read_only: str | None = None
    asks_password: bool = False
    password: str | None = None
    flag: str = ""
    """The flag that chose it, as a command repeats it; empty if none did."""

    @property
    def url(self) -> str | None:
        """Where it is; None: the default file. It may hold a password."""
        return self.named.url if self.named else self.given_url

    @property
    def label(self) -> str:
        """What its people call it; empty if nothing."""
        return self.named.label if self.named else ""

    @property
    def colour(self) -> str:
        """What the label is painted in; empty if nothing was said."""
        return self.named.colour if self.named else ""

    def __repr__(self) -> str:
        return f"Target({self.shown})"

    @property
    def shown(self) -> str:
        """What it may be called where people see it."""
        name = self.label or (self.named.name if self.named else "")
        place = without_password(self.url) if self.url else "the default file"
        return f"{name} ({place})" if name else place


def choose(
    *, database: str | None = None, on: str | None = None, read_only: bool | None = None, ask_password: bool = False
) -> Target:
    """The database that flags, the environment and `config.toml` choose. None: the flag was not given.

    Raises:
        ValidationError: a flag or a variable breaks a rule.
        ConfigError: `config.toml` does.
    """
    config = find_config()
    if database is not None and on is not None:
        raise ValidationError("--on", on, "must not be given together with --database: both name one")
    if database is None and on is None:
        named, url = _chosen_without_flags(config)
    else:
        named, url = (None if on is None else _named(config, "--on", on)), database
    why = _why_read_only(read_only, config, named)
    target = Target(
        config=config,
        named=named,
        given_url=url,
        read_only=why,
        asks_password=ask_password,
        flag=_flag(database, on),
    )
    if ask_password and (target.url is None or target.url.startswith("sqlite")):
        raise ValidationError("--ask-password", target.shown, "must be for a server's database: a file has no password")
    if ask_password and target.url is not None and _has_password(target.url):
        raise ValidationError("--ask-password", target.shown, "must be for a URL that holds no password itself")
    return target


def unlocked(target: Target) -> Target:
    """The same with its password, which is looked for or asked for here: once for each call of the program.

    Raises:
        PasswordError: there is none where it was to be.
    """
    return replace(target, password=password_for(target))


def interval_for(target: Target, given: float | None = None) -> float:
    """Seconds between two looks of the dashboard; `given` is the flag's.

    Raises:
        ValidationError: the variable breaks a rule.
    """
    chosen = (given, _interval_of_environment() if given is None else None)
    of_file = (target.named.interval if target.named else None, target.config.interval)
    return next((seconds for seconds in (*chosen, *of_file) if seconds is not None), DEFAULT_INTERVAL_SECS)


def theme_for(target: Target, given: str | None = None) -> str | None:
    """The theme that was asked for, if one was; `given` is the flag's.

    Raises:
        ValidationError: the flag or the variable is no name.
    """
    for argument, theme in (("--theme", given), (THEME, os.environ.get(THEME) or None)):
        if theme is not None:
            try:
                return check_name(theme)
            except UnfitError as unfit:
                raise ValidationError(argument, theme, unfit.rule) from None
    return target.config.theme


def password_for(target: Target) -> str | None:
    """The password of a server's database, if its URL is not to hold it; None if none is to be had.

    Typed by a person if `--ask-password` was given, else $LOCKWATCH_PASSWORD, else the first line of `password_file`.

    Raises:
        PasswordError: there is none where it was to be.
    """
    from lockwatch.passwords import ask_password, read_password

    if target.asks_password:
        return ask_password(target.shown)
    if given := os.environ.get(PASSWORD):
        return given
    return read_password(target.named.password_file) if target.named and target.named.password_file else None


def find_config() -> Config:
    """What `config.toml` says: the file of $LOCKWATCH_CONFIG, or the one in the user's config folder, if it is there.

    Raises:
        ConfigError: it breaks a rule, or the one that is named is not there.
    """
    if named := os.environ.get(CONFIG):
        return load(Path(named))
    import platformdirs  # late: not all that is imported with this needs a file

    path = Path(platformdirs.user_config_dir("lockwatch")) / "config.toml"
    return load(path) if os.path.exists(path) else Config(path=path)  # noqa: PTH110 no error in another's folder


def database_url() -> str | None:
    """The database that the environment names, if it names one."""
    return os.environ.get(DATABASE_URL) or None


def resource_types() -> tuple[str, ...]:
    """The resource types that the environment allows beside `plan` and `project`, parted by commas.

    Raises:
        ValidationError: one of them is no name for a type.
    """
    names = tuple(name.strip() for name in os.environ.get(RESOURCE_TYPES, "").split(",") if name.strip())
    try:
        known_types(names)
    except ValidationError as error:
        raise ValidationError(RESOURCE_TYPES, error.given, error.rule) from None
    return names


def default_database() -> Path:
    """The file that serves where no database is named: in the user's data folder."""
    import platformdirs  # late: needed only where nothing is named

    return Path(platformdirs.user_data_dir("lockwatch")) / "locks.db"


def _flag(database: str | None, on: str | None) -> str:
    """No URL of a server, which may hold a password."""
    if on is not None:
        return f"--on {quote(on)}"
    if database is None:
        return ""
    return f"--database {clean(quote(database)) if database.startswith('sqlite') else 'URL'}"


def _has_password(url: str) -> bool:
    user, at, _ = url.partition("://")[2].partition("?")[0].rpartition("@")
    return bool(at) and ":" in user


def _chosen_without_flags(config: Config) -> tuple[NamedDatabase | None, str | None]:
    on, url = os.environ.get(ON) or None, database_url()
    if on and url:
        raise ValidationError(ON, on, f"must not be set together with {DATABASE_URL}: both name a database")
    if on:
        return _named(config, ON, on), None
    return (config.databases[config.default] if config.default and not url else None), url


def _named(config: Config, argument: str, name: str) -> NamedDatabase:
    if name not in config.databases:
        known = ", ".join(config.databases) or "there is none"
        raise ValidationError(argument, name, f"must be one of the databases that {config.path} names: {known}")
    return config.databases[name]


def _why_read_only(given: bool | None, config: Config, named: NamedDatabase | None) -> str | None:
    if given is not None:
        return "opened with --read-only" if given else None
    of_environment = _truth_of_environment(READ_ONLY)
    if of_environment is not None:
        return f"{READ_ONLY} is set" if of_environment else None
    if named and named.read_only is not None:
        return f"databases.{named.name}.read_only is set in {config.path.name}" if named.read_only else None
    return f"read_only is set in {config.path.name}" if config.read_only else None


def _interval_of_environment() -> float | None:
    text = os.environ.get(INTERVAL)
    if not text:
        return None
    try:
        return check_interval(_number(text))
    except UnfitError as unfit:
        raise ValidationError(INTERVAL, text, unfit.rule) from None


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _truth_of_environment(name: str) -> bool | None:
    text = os.environ.get(name)
    if not text:
        return None
    if text.lower() not in _YES + _NO:
        raise ValidationError(name, text, f"must be one of {', '.join(_YES + _NO)}")
    return text.lower() in _YES
