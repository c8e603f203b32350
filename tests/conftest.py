"""Shared fixtures: a little generated catalogue, and the real 1k one where ../shared is there."""

import glob
import logging
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from effort import effort
from hypothesis import settings

# Before anything of errands is imported: tests never touch the user's own cache. Each worker has a
# home of its own, but for catalogues: those that are built in are generated once for all of them.
if "ERRANDS_TESTS_CATALOGS" not in os.environ:
    os.environ["ERRANDS_TESTS_CATALOGS"] = tempfile.mkdtemp(prefix="errands-tests-")
os.environ["ERRANDS_HOME"] = tempfile.mkdtemp(prefix="errands-tests-")
# Several workers share the cores: threads of PyTorch that wait for each other only burn them.
if "OMP_NUM_THREADS" not in os.environ:
    os.environ["OMP_NUM_THREADS"] = "1"
# Shells let what they start in the background ignore Ctrl-C, and so would all that tests start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from errands.browser import chromium
from errands.shop.build.builder import build_catalog, generate_catalog
from errands.shop.catalog.catalog import Catalog
from errands.shop.catalog.library import ensure
from errands.turk.browser.driver import BrowserDriver
from errands.turk.pages.driver import DriverError

os.symlink(os.environ["ERRANDS_TESTS_CATALOGS"], Path(os.environ["ERRANDS_HOME"], "catalogs"))

# The machines are noisy: how long an example takes is no one's fault.
settings.register_profile("errands", deadline=None, max_examples=effort(30, 100))
settings.load_profile("errands")

SHARED = Path(__file__).resolve().parents[2] / "shared"
WEBSHOP = SHARED / "data" / "webshop-1k"
RECORDED = SHARED / "fixtures" / "webshop"


HEAVY = (
    "bench", "browser", "cli", "examples", "experiments", "learn", "web", "remote", "docs",
    "runs/workers", "runs/test_killed.py", "runs/test_runner.py", "runs/store", "turk/browser",
    "turk/effects", "turk/oracle", "shop/build", "crowd",
    "data/test_download.py", "agents/llm", "envs/test_shop_pictures.py", "transfer/test_play.py",
    "integrations", "leaderboard/test_browser.py", "legacy",
    "testing/test_adapter.py",
    "client",
)  # fmt: skip
"""Below this folder: tests that start processes, browsers, databases or trainings. `make check`
leaves them out."""
HEAVY_FIXTURES = {"browser_driver", "postgres_url"}
LONG = (
    "turk/effects/test_equivalence.py", "turk/effects/test_first_use.py",
    "agents/llm/test_turk_conditions.py", "docs/test_site.py",
    "bench/test_soak.py",
    "runs/workers/test_ray_pool.py", "cli/train/test_stopped.py", "learn/test_a2c.py",
    "turk/oracle/test_pointer_oracle.py", "turk/scoring/test_recorded_runs.py",
    "web/crowd/instructions/test_process.py", "turk/browser/test_hostile_pages.py",
    "web/crowd/instructions/test_browser.py", "experiments/test_experiments.py",
    "web/env_api/test_schemathesis.py", "cli/test_run.py", "cli/test_main.py",
    "integrations/test_inspect.py", "integrations/test_mcp.py", "integrations/test_harbor.py",
    "runs/test_runner.py", "cli/train/test_commands.py", "cli/mine/test_commands.py",
    "cli/turk/test_work.py", "learn/models/test_pretrained_encoder.py", "docs/test_guides.py",
    "docs/test_tutorials.py",
    "shop/synthetic/test_generator.py", "learn/test_evaluation.py", "runs/test_killed.py",
    "cli/test_run_stopped.py", "transfer/test_fuzz.py", "bench/test_scale.py", "envs/test_shop.py",
    "web/crowd/hits/test_frame_security.py", "web/crowd/hits/test_frame_peers.py",
    "web/crowd/hits/test_browser.py", "web/crowd/hits/test_day.py", "web/runs/test_browser.py",
    "cli/train/test_encoder.py", "examples/test_notebook.py", "envs/test_shop_pictures.py",
)  # fmt: skip
"""Files that take longest: workers begin with them, so that none is left over at the end."""


def _place(path: Path) -> str:
    return path.relative_to(Path(__file__).parent).as_posix()


def _is_heavy(path: Path) -> bool:
    place = _place(path)
    return any(place == part or place.startswith(f"{part}/") for part in HEAVY)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What is left out need not be imported, with all that it imports."""
    leaves_out = config.getoption("markexpr") == "not heavy"
    return True if leaves_out and _is_heavy(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        order = {place: number for number, place in enumerate(LONG)}
        items.sort(key=lambda item: order.get(_place(item.path), len(LONG)))
    for item in items:
        if _is_heavy(item.path) or HEAVY_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("heavy")
    if SHARED.is_dir():
        return
    reason = f"needs the real data and recordings in {SHARED}, which is absent"
    for item in items:
        if "shared" in item.keywords or "catalog_1k" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Frameworks that are tried here set the root logger's level, and later tests read logs."""
    root = logging.getLogger()
    level, disabled = root.level, root.manager.disable
    yield
    root.setLevel(level)
    logging.disable(disabled)


@pytest.fixture(scope="session")
def recorded() -> Path:
    """The folder of recorded behaviour of the original."""
    return RECORDED


@pytest.fixture(scope="session")
def catalog_1k() -> Catalog:
    """The real 1,000 products, with the recordings' noun lists."""

    def build(out: Path) -> None:
        build_catalog(
            out,
            items=WEBSHOP / "items_shuffle_1000.json",
            attributes=WEBSHOP / "items_ins_v2_1000.json",
            human=WEBSHOP / "items_human_ins.json",
            nouns=RECORDED / "nouns.json",
        )

    # Beside the built-in ones, which are listed; one for all workers, too.
    place = Path(f"{os.environ['ERRANDS_TESTS_CATALOGS']}-real", "webshop-1k")
    return Catalog.open(ensure(place, build))


@pytest.fixture(scope="session")
def little(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """A generated catalogue of 300 products."""
    out = tmp_path_factory.mktemp("catalogs") / "little"
    generate_catalog(out, products=300, seed=5, difficulty="easy")
    return Catalog.open(out)


@pytest.fixture(scope="session")
def browser_driver() -> Iterator[BrowserDriver]:
    """A browser that works; where there is none, the reason to skip says how to install one."""
    driver = BrowserDriver(load_seconds=60, step_seconds=30)  # The machine may be a busy one.
    try:
        driver.open("<p>Here</p>").close()
    except DriverError as error:
        if str(error) in (chromium.MISSING_BROWSER, chromium.MISSING_PACKAGE):
            pytest.skip(str(error))
        raise
    yield driver
    driver.close()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a PostgreSQL server that lives as long as these tests."""
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'errands[postgres]'")
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    program = found[-1] if found else shutil.which("initdb")
    if program is None:
        pytest.skip("needs a PostgreSQL server: apt-get install postgresql")
    bin = Path(program).parent
    home = Path(tempfile.mkdtemp(prefix="errands-pg-", dir="/tmp"))
    before: list[str] = []
    if os.getuid() == 0:  # PostgreSQL refuses to run as root.
        shutil.chown(home, "postgres", "postgres")
        before = ["runuser", "-u", "postgres", "--"]
    data = str(home / "data")
    options = f"-F -k {home} -c listen_addresses="

    def control(*words: str) -> None:
        with open(home / "control.log", "ab") as log:
            subprocess.run([*before, *words], check=True, stdout=log, stderr=log, cwd="/")

    try:
        control(str(bin / "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--no-sync")
        start = ("-w", "-D", data, "-l", str(home / "log"), "-o", options)
        control(str(bin / "pg_ctl"), "start", *start)
        try:
            yield f"postgresql://postgres:secret@/postgres?host={home}"
        finally:
            control(str(bin / "pg_ctl"), "stop", "-D", data, "-m", "immediate")
    finally:
        shutil.rmtree(home, ignore_errors=True)


# Of one file: as long as Playwright lives, its loop keeps tests of others from their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium that can be asked anything, found as a user's would be."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with api.sync_playwright() as playwright:
        program = chromium.find()
        if program is None and not Path(playwright.chromium.executable_path).exists():
            pytest.skip(chromium.MISSING_BROWSER)
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        with pytest.MonkeyPatch.context() as patch:
            for kind in (api.Page, api.Locator):
                patch.setattr(kind, "click", wait_after(kind.click))
            yield started
        started.close()


def wait_after(click: Callable[..., None]) -> Callable[..., None]:
    """Playwright's click is over when a new page has begun; ours, when that has been loaded.

    Otherwise whatever does not wait by itself (`evaluate`, `count`, `content`) reads half a page.
    """

    def clicked(target: Any, *arguments: Any, **options: Any) -> None:
        click(target, *arguments, **options)
        getattr(target, "page", target).wait_for_load_state()

    return clicked
