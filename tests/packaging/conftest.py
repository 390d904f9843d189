"""A wheel, and an environment with it."""

import pytest

from tests.packaging.environments import build_wheel, make_environment


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """Return the path of a wheel of this checkout."""
    return build_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def installed(tmp_path_factory, wheel):
    """Return a new environment into which the wheel was installed; tests leave it as it is."""
    environment = make_environment(tmp_path_factory.mktemp("plain") / "venv")
    environment.install(str(wheel))
    return environment
