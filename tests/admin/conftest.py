from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from elicit_flows.admin import registry  # noqa: F401  so that the first test to ask has every page
from tests.admin.rows import Rows, make
from tests.cast import OLGA


@pytest.fixture(autouse=True)
def quick_passwords(settings: Settings) -> None:
    """A hash that takes no time: what is tried here is what happens before and after it."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def without_second_factor(settings: Settings) -> None:
    """As on a developer's machine; test_gate.py is about the others."""
    settings.ELICIT_ADMIN_SECOND_FACTOR = False


@pytest.fixture
def rows(db: None) -> Rows:
    return make()


@pytest.fixture
def olga(db: None) -> User:
    """An operator."""
    return User.objects.create_superuser(OLGA.username, password=OLGA.password)


@pytest.fixture
def admin(olga: User) -> Client:
    """Olga's browser."""
    browser = Client()
    browser.force_login(olga)
    return browser


@pytest.fixture
def anybody(db: None) -> Client:
    """A browser that nobody is signed in with; no try at a password has been counted yet."""
    cache.clear()
    return Client()
