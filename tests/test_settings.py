"""Which setting counts: a flag, the environment, `config.toml`, the default, in this order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lockwatch import settings
from lockwatch.config import Config, ConfigError
from lockwatch.core.errors import ValidationError
from tests.support import ROOT

CONFIG = """
default = "prod"
interval = 5
theme = "of-file"

[databases.prod]
url = "postgresql://app@db1/orders"
label = "PROD"
colour = "red"
read_only = true
interval = 7
password_file = "secret"

[databases.test]
url = "postgresql://app:s3cret@db2/orders"
read_only = false
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `config.toml` with two databases, that the environment names."""
    path = tmp_path / "config.toml"
    path.write_text(CONFIG)
    monkeypatch.setenv(settings.CONFIG, str(path))
    return path


@pytest.fixture
def secret(config: Path) -> Path:
    """The password file of `prod`, that only its owner can read."""
    path = config.with_name("secret")
    path.touch(mode=0o600)
    path.write_text("of-file\nmore\n")
    return path


# Where config.toml is


def test_without_a_file_nothing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "home" / "config" / "lockwatch" / "config.toml"
    assert settings.find_config() == Config(path=path)


@pytest.mark.skipif(sys.platform != "linux", reason="on other systems the user's config folder is named otherwise")
def test_the_file_is_in_the_users_config_folder(tmp_path: Path) -> None:
    path = tmp_path / "home" / "config" / "lockwatch" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("interval = 9")
    assert settings.find_config().interval == 9


def test_a_file_that_is_named_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.CONFIG, str(tmp_path / "none.toml"))
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read"):
        settings.find_config()


def test_who_imports_lockwatch_reads_no_config(config: Path) -> None:
    config.write_text("nonsense")
    script = "import lockwatch; lockwatch.connect('sqlite:///x.db').close()"
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


# Which database


@pytest.mark.usefixtures("config")
def test_the_default_of_the_file_serves_where_nothing_else_names_one() -> None:
    target = settings.choose()
    assert (target.url, target.label, target.colour) == ("postgresql://app@db1/orders", "PROD", "red")


def test_without_any_word_it_is_the_default_file() -> None:
    target = settings.choose()
    assert (target.url, target.label, target.colour, target.read_only) == (None, "", "", None)
    assert target.shown == "the default file"


@pytest.mark.usefixtures("config")
def test_the_environment_is_stronger_than_the_file_and_a_flag_than_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.DATABASE_URL, "sqlite:///of-environment.db")
    assert settings.choose().url == "sqlite:///of-environment.db"
    assert settings.choose(on="test").url == "postgresql://app:s3cret@db2/orders"
    assert settings.choose(database="sqlite:///of-flag.db").url == "sqlite:///of-flag.db"
    monkeypatch.delenv(settings.DATABASE_URL)
    monkeypatch.setenv(settings.ON, "test")
    assert settings.choose().url == "postgresql://app:s3cret@db2/orders"
    assert settings.choose(on="prod").label == "PROD"
    assert settings.choose(database="sqlite:///of-flag.db").label == ""


@pytest.mark.usefixtures("config")
def test_two_names_of_a_database_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError, match="--on: must not be given together with --database"):
        settings.choose(on="prod", database="sqlite:///x.db")
    monkeypatch.setenv(settings.DATABASE_URL, "sqlite:///x.db")
    monkeypatch.setenv(settings.ON, "prod")
    with pytest.raises(ValidationError, match="LOCKWATCH_ON: must not be set together with LOCKWATCH_DATABASE_URL"):
        settings.choose()


def test_an_unknown_name_lists_the_known_ones(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = f"must be one of the databases that {config} names: prod, test; got"
    for name in ("", "prodd", "PROD", "../x"):
        with pytest.raises(ValidationError) as refused:
            settings.choose(on=name)
        assert str(refused.value) == f"--on: {known} {name!r}"
    monkeypatch.setenv(settings.ON, "x")
    with pytest.raises(ValidationError, match="LOCKWATCH_ON: must be one of"):
        settings.choose()
    config.write_text("")
    with pytest.raises(ValidationError, match="there is none"):
        settings.choose(on="prod")


@pytest.mark.usefixtures("config")
def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (settings.ON, settings.DATABASE_URL, settings.INTERVAL, settings.THEME, settings.READ_ONLY):
        monkeypatch.setenv(name, "")
    target = settings.choose()
    assert (target.label, settings.interval_for(target), settings.theme_for(target)) == ("PROD", 7.0, "of-file")


@pytest.mark.usefixtures("config")
def test_no_password_is_in_what_a_target_shows() -> None:
    target = settings.choose(on="test")
    assert target.shown == "test (postgresql://app@db2/orders)"
    assert settings.choose(on="prod").shown == "PROD (postgresql://app@db1/orders)"
    assert "s3cret" not in repr(target)
    assert "s3cret" not in repr(settings.choose(database="postgresql://app:s3cret@db/x"))


# Read-only


def test_read_only_is_decided_by_the_strongest_that_says_anything(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text(f"read_only = true\n{CONFIG}\n[databases.other]\nurl = 'sqlite:///x.db'")
    of_all = "read_only is set in config.toml"
    assert settings.choose(database="sqlite:///x.db").read_only == of_all
    assert settings.choose(on="other").read_only == of_all
    assert settings.choose(on="test").read_only is None
    assert settings.choose(on="prod").read_only == "databases.prod.read_only is set in config.toml"
    monkeypatch.setenv(settings.READ_ONLY, "0")
    assert settings.choose(on="prod").read_only is None
    assert settings.choose(on="prod", read_only=True).read_only == "opened with --read-only"
    monkeypatch.setenv(settings.READ_ONLY, "1")
    assert settings.choose(on="test").read_only == "LOCKWATCH_READ_ONLY is set"
    assert settings.choose(on="prod", read_only=False).read_only is None


@pytest.mark.parametrize(("text", "meaning"), [("1", True), ("TRUE", True), ("yes", True), ("on", True), ("No", False)])
def test_truths_are_written_in_many_ways(monkeypatch: pytest.MonkeyPatch, text: str, meaning: bool) -> None:
    monkeypatch.setenv(settings.READ_ONLY, text)
    assert (settings.choose().read_only is not None) is meaning


@pytest.mark.parametrize("text", ["2", "maybe", " ", "-", "\x1b[2J"])
def test_a_variable_that_is_no_truth_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(settings.READ_ONLY, text)
    with pytest.raises(
        ValidationError, match="LOCKWATCH_READ_ONLY: must be one of 1, true, yes, on, 0, false, no, off"
    ):
        settings.choose()


# The dashboard's


@pytest.mark.usefixtures("config")
def test_the_interval_and_the_theme_go_by_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    prod, test = settings.choose(on="prod"), settings.choose(on="test")
    assert (settings.interval_for(prod), settings.interval_for(test)) == (7.0, 5.0)
    assert settings.theme_for(prod) == "of-file"
    monkeypatch.setenv(settings.INTERVAL, "2.5")
    monkeypatch.setenv(settings.THEME, "of-environment")
    assert (settings.interval_for(prod), settings.theme_for(prod)) == (2.5, "of-environment")
    assert (settings.interval_for(prod, 0.5), settings.theme_for(prod, "of-flag")) == (0.5, "of-flag")


def test_without_any_word_the_interval_is_a_second_and_the_theme_open() -> None:
    target = settings.choose()
    assert (settings.interval_for(target), settings.theme_for(target)) == (1.0, None)


@pytest.mark.parametrize("text", ["0", "-1", "0.09", "3600.1", "nan", "inf", "x", " ", "1s"])
def test_a_variable_that_is_no_interval_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(settings.INTERVAL, text)
    rule = "must be a number of seconds from 0.1 to 3600; got"
    with pytest.raises(ValidationError, match=f"LOCKWATCH_INTERVAL: {rule} {text!r}"):
        settings.interval_for(settings.choose())


@pytest.mark.parametrize("text", ["a b", "-x", "\x1b[2J", "x" * 65])
def test_a_theme_that_is_no_name_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    with pytest.raises(ValidationError, match="--theme: must be a name"):
        settings.theme_for(settings.choose(), text)
    monkeypatch.setenv(settings.THEME, text)
    with pytest.raises(ValidationError, match="LOCKWATCH_THEME: must be a name"):
        settings.theme_for(settings.choose())


# Passwords


def test_a_password_is_the_environments_or_the_first_line_of_the_file(
    secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert secret.exists()
    assert settings.password_for(settings.choose(on="prod")) == "of-file"
    assert settings.password_for(settings.choose(on="test")) is None
    monkeypatch.setenv(settings.PASSWORD, "of-environment")
    assert settings.password_for(settings.choose(on="prod")) == "of-environment"


@pytest.mark.usefixtures("config")
def test_a_servers_password_can_be_asked_for() -> None:
    assert settings.choose(on="prod", ask_password=True).asks_password


@pytest.mark.parametrize("url", [None, "sqlite:///x.db", "sqlite+pysqlite:///x.db"])
def test_a_file_has_no_password_to_ask_for(url: str | None) -> None:
    with pytest.raises(ValidationError, match="--ask-password: must be for a server's database"):
        settings.choose(database=url, ask_password=True)


@pytest.mark.usefixtures("config")
def test_who_is_asked_for_a_password_is_not_asked_in_vain() -> None:
    with pytest.raises(ValidationError, match="--ask-password: must be for a URL that holds no password itself") as no:
        settings.choose(on="test", ask_password=True)
    assert "s3cret" not in str(no.value)


def test_an_unlocked_target_has_its_password_and_shows_it_nowhere(secret: Path) -> None:
    assert secret.exists()
    target = settings.unlocked(settings.choose(on="prod"))
    assert target.password == "of-file"  # noqa: S105 of the fixture's file
    assert "of-file" not in f"{target!r} {target} {target.shown}"
