"""`aworld doctor` knows every extra, and says what is missing of it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, metadata

import pytest

from aworld.cli import extras

FOR_OURSELVES = {"dev", "docs"}
HAS = {"torch": "2.13.0+cpu", "ray": "2.9.3", "openai": "1.60"}
NEEDS = [
    "rich>=13.7",
    "openai>=1.60; extra == 'openai'",
    'ray[client]>=2.40; extra == "ray"',
    "torch>=2.6; extra == 'serve'",
    "aworld[openai,serve]; extra == 'train'",
    "peft>=0.15; extra == 'train'",
]


@pytest.fixture
def found(monkeypatch):
    def version(name):
        if name not in HAS:
            raise PackageNotFoundError(name)
        return HAS[name]

    monkeypatch.setattr(extras, "requires", lambda name: NEEDS)
    monkeypatch.setattr(extras, "version", version)
    return {check.name: check for check in extras.extras()}


def test_every_extra_for_users_is_examined():
    declared = set(metadata("aworld").get_all("Provides-Extra") or [])
    assert declared - FOR_OURSELVES == extras.PURPOSES.keys()


def test_without_an_installation_nothing_is_known_of_extras_and_that_is_told(monkeypatch):
    def requires(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "requires", requires)
    (check,) = extras.extras()
    assert (check.state, check.advice) == ("missing", "pip install aworld")


def test_what_is_there_is_told_with_its_version(found):
    assert found["aworld[openai]"][1:3] == ("ok", "openai 1.60")
    assert found["aworld[serve]"][1:3] == ("ok", "torch 2.13.0+cpu")


def test_what_an_extra_lacks_is_named_with_what_to_do(found):
    check = found["aworld[train]"]
    assert check[1:] == ("missing", "for training, lacks peft", "pip install 'aworld[train]'")


def test_what_is_too_old_is_told(found):
    check = found["aworld[ray]"]
    assert check.state == "broken"
    assert check.found == "ray 2.9.3 is older than 2.40"
    assert check.advice == "pip install --upgrade 'aworld[ray]'"
