"""The pytest plugin: the fixture ``workgraph`` is a world of its own for each test."""

import contextlib
import os
import threading

import pytest

from .stand_in import StandIn

_FAILED = pytest.StashKey()
_SHARED = pytest.StashKey()
_URL_OF_WORKERS = "workgraph_stand_in_url"


@pytest.fixture(scope="session")
def workgraph_server(request):
    """The stand-in of this run of pytest, which the workers of pytest-xdist share. The environment variable
    ``WORKGRAPH_STAND_IN_URL`` names one that runs already."""
    of_workers = getattr(request.config, "workerinput", {})
    url = os.environ.get("WORKGRAPH_STAND_IN_URL") or of_workers.get(_URL_OF_WORKERS)
    if url:
        yield StandIn(url)
        return
    with StandIn.start() as server:
        yield server


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    """Begins one stand-in for all workers of pytest-xdist, which starts while they do."""
    config = session.config
    if config.pluginmanager.hasplugin("dsession") and not os.environ.get("WORKGRAPH_STAND_IN_URL"):
        try:
            config.stash[_SHARED] = StandIn.begin()
        except (OSError, RuntimeError):
            # The first test that uses a world says why.
            pass


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Tells a worker of pytest-xdist where the stand-in is."""
    stash = node.config.stash
    shared = stash.get(_SHARED, None)
    if not shared:
        return
    if not shared.url:
        try:
            shared.wait()
        except RuntimeError:
            del stash[_SHARED]
            return
        threading.Thread(target=_make_first_world, args=[shared], daemon=True).start()
    node.workerinput[_URL_OF_WORKERS] = shared.url


def _make_first_world(server):
    """The first world takes as long as fifty others, so it is made while the workers start."""
    # Whatever fails here fails again where a test says so.
    with contextlib.suppress(Exception):
        server.world().delete()


def pytest_unconfigure(config):
    shared = config.stash.get(_SHARED, None)
    if shared:
        shared.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@pytest.fixture
def workgraph(workgraph_server, request):
    """A world with the data of a demo. The world of a failed test is kept until the stand-in ends, and its address printed.

    ``@pytest.mark.workgraph(now="2026-03-01T09:30:00Z", seed=7)`` gives options of the world.
    """
    marker = request.node.get_closest_marker("workgraph")
    options = dict(marker.kwargs) if marker else {}
    world = workgraph_server.world(name=request.node.name, **options)
    yield world
    if request.node.stash.get(_FAILED, False):
        print(f"\nthe world of this test is kept: {world.url}/-/stand-in (seed {world.seed})")
    else:
        world.delete()


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "workgraph(**options): options of the world of a test, such as now, seed, from_ and settings"
    )
