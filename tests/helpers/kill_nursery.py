"""Work of several kinds that is killed at random moments: started by tests/test_killed.py in a
process without threads, so it may fork, and has imported everything once.

    python kill_nursery.py KIND FOLDER KILLS SEED

Prints a line of JSON: how many kills hit work on its way, of how many processes; how often the
work was brought to its end and compared with what was never killed; how much was acknowledged.
"""

import contextlib
import hashlib
import http.client
import importlib
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

__all__ = ["KINDS", "main"]

Say = Callable[[str], None]


class Work:
    """A kind of work: what a user would do again after a kill, and what must hold then."""

    longest = 1.0
    """So much of the time that the whole takes may pass until a kill."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def do(self, place: Path, say: Say) -> None:
        """Begin, or go on, until it is done; `say` what is acknowledged to the user."""
        raise NotImplementedError

    def check(self, place: Path, said: list[str]) -> None:
        """After an end, be it a kill: what was said is there, once."""
        raise NotImplementedError

    def told(self, place: Path) -> Any:
        """Finished work, to be compared."""
        raise NotImplementedError


class Runs(Work):
    """`errands run`, then `--resume`."""

    longest = 0.7
    episodes = 120

    def __init__(self, folder: Path) -> None:
        from errands.shop.build.builder import generate_catalog

        super().__init__(folder)
        catalog = folder / "shop"
        generate_catalog(catalog, products=120, seed=5, difficulty="easy", workers=1)
        self.protocol = folder / "p.toml"
        self.protocol.write_text(
            f'[p]\nversion = 1\ndomain = "shop"\ndata = "{catalog}"\nepisodes = {self.episodes}\n'
            "max_steps = 12\n"
        )

    def do(self, place: Path, say: Say) -> None:
        from errands.runs.runner import run
        from errands.runs.store.base import StoreError
        from errands.runs.store.places import open_run

        try:
            open_run(place / "run").close()
            begun = True
        except StoreError:
            begun = False
        run(
            str(self.protocol), "random", out=place / "run", resume=begun, observations="full",
            on_episode=lambda summary: say(str(summary.number)),
        )  # fmt: skip

    def check(self, place: Path, said: list[str]) -> None:
        from errands.runs.store.base import StoreError
        from errands.runs.store.places import open_run

        try:
            store = open_run(place / "run")
        except StoreError:
            assert not said, "acknowledged, and lost with its run"
            return
        with closing(store):
            numbers = [summary.number for summary in store.summaries()]
            assert len(numbers) == len(set(numbers)), "twice"
            assert set(map(int, said)) <= set(numbers), "acknowledged, and lost"
            assert len(said) == len(set(said)), "played again though it was kept"

    def told(self, place: Path) -> Any:
        from errands.runs.store.places import open_run

        with closing(open_run(place / "run")) as store:
            return [
                (one.summary.number, one.summary.key, one.summary.reward, one.summary.parts,
                 one.last_digest, [(step.action, step.observation) for step in one.steps])
                for one in store.episodes()
            ]  # fmt: skip


class Builds(Work):
    """`errands catalog generate`, again and again over what was there."""

    longest = 1.1

    def do(self, place: Path, say: Say) -> None:
        from errands.shop.build.builder import generate_catalog

        out = place / "catalogue"
        seed = 2 if out.exists() and self._seed(out) == 1 else 1
        generate_catalog(
            out, products=60, seed=seed, difficulty="easy", workers=1, replace=out.exists()
        )
        say(f"made {seed}")

    @staticmethod
    def _seed(out: Path) -> int:
        return int(json.loads((out / "manifest.json").read_bytes())["made"]["seed"])

    def check(self, place: Path, said: list[str]) -> None:
        from errands.shop.catalog.verification import verify_files

        out = place / "catalogue"
        ends = time.monotonic() + 30
        # A watcher clears away what a killed builder leaves.
        while (left := [each for each in place.iterdir() if each != out]) and (
            time.monotonic() < ends
        ):
            time.sleep(0.005)
        assert not left, f"{left} is left over"
        assert out.exists() or not said, "a catalogue that was there is lost"
        if out.exists():
            verify_files(out, "full")

    def told(self, place: Path) -> Any:
        out = place / "catalogue"
        if self._seed(out) != 1:
            self.do(place, print)
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(out.rglob("*"))
            if path.is_file()
        }


class Trainings(Work):
    """`errands train choice`, then `--resume`."""

    longest = 0.5

    def __init__(self, folder: Path) -> None:
        from errands.learn.data.demonstrations import read_demonstrations
        from errands.runs.runner import run

        Runs(folder)
        demos = folder / "demos"
        run(
            "shop-learn-train", "shopper", out=demos, data=str(folder / "shop"), episodes=4,
            settings={"errors": "0"}, observations="full",
        )  # fmt: skip
        super().__init__(folder)
        self.demonstrations = read_demonstrations(str(demos), least=0.0)

    def do(self, place: Path, say: Say) -> None:
        import msgspec

        from errands.learn.checkpoint import PROGRESS
        from errands.learn.imitation import PRESETS, train_choice
        from errands.learn.trainer import TrainingOptions

        config = PRESETS["small"]
        config = msgspec.structs.replace(
            config, epochs=12, batch_size=8, threads=1,
            choice=msgspec.structs.replace(config.choice, width=8),
        )  # fmt: skip
        out = place / "model"
        options = TrainingOptions(
            resume=(out / PROGRESS).exists(),
            save_every=0,
            on_progress=lambda progress: say(f"{progress.step} of {progress.steps}"),
        )
        train_choice(self.demonstrations, out, config, options=options)

    def check(self, place: Path, said: list[str]) -> None:
        """What was said of a step that was not saved yet is said again: the log shows the steps."""
        from errands.learn.checkpoint import PROGRESS

        log = place / "model" / "log.jsonl"
        if not (place / "model" / PROGRESS).exists():
            return
        lines = log.read_text().splitlines(keepends=True)
        steps = [json.loads(line)["step"] for line in lines if line.endswith("\n")]
        assert steps == sorted(set(steps)), "a step is there twice"
        import torch

        stored = torch.load(place / "model" / PROGRESS, weights_only=True)
        most = [step for step in steps if step <= stored["step"]]
        assert most == [step for step in self.steps if step <= stored["step"]], "a line is lost"

    steps: tuple[int, ...] = ()

    def told(self, place: Path) -> Any:
        import torch

        model = place / "model"
        weights = torch.load(model / "weights.pt", weights_only=True)
        log = [json.loads(line) for line in (model / "log.jsonl").read_text().splitlines()]
        self.steps = tuple(line["step"] for line in log)
        return (
            (model / "about.json").read_bytes(),
            {name: weight.tolist() for name, weight in weights.items()},
            [(line["step"], line["loss"]) for line in log],
        )


class Submissions(Work):
    """`errands submit --force`, over the one that is there."""

    longest = 1.1

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        runs = Runs(folder)
        runs.do(folder, lambda number: None)

    def do(self, place: Path, say: Say) -> None:
        from errands.leaderboard.making import submit

        out = place / "board" / "a.errands.json.gz"
        submit(self.folder / "run", out, name="A", note="x" * 1000, replace=True)
        say("sent")

    def check(self, place: Path, said: list[str]) -> None:
        from errands.leaderboard.submission import SUFFIX, read_submission

        out = place / "board" / "a.errands.json.gz"
        assert out.exists() or not said, "a submission that was there is lost"
        if not out.parent.exists():
            return
        found = [path for path in out.parent.iterdir() if path.name.endswith(SUFFIX)]
        assert found == [out] * out.exists(), found
        if out.exists():
            assert len(read_submission(out)[0].episodes) == Runs.episodes

    def told(self, place: Path) -> Any:
        return (place / "board" / "a.errands.json.gz").read_bytes()


class HandScores(Work):
    """Scores that a person gives on a page, each kept before the next purchase is shown."""

    longest = 0.7
    count = 150

    def do(self, place: Path, say: Say) -> None:
        from errands.verify.hand_scores import HandFile, HandScore

        with closing(HandFile(place / "hand.jsonl", "r")) as file:
            for number in range(self.count):
                if number not in file.scores:
                    file.add(
                        HandScore(
                            run="r", episode=number, type=1.0, attributes=(True,) * (number % 4),
                            options=(False,), price=True, note=f"{number} " * 20,
                        )
                    )  # fmt: skip
                    say(str(number))

    def check(self, place: Path, said: list[str]) -> None:
        from errands.verify.hand_scores import read_hand_scores

        if not (place / "hand.jsonl").exists():
            assert not said
            return
        scores = read_hand_scores(place / "hand.jsonl", "r")
        assert set(map(int, said)) <= scores.keys(), "acknowledged, and lost"
        assert len(said) == len(set(said))

    def told(self, place: Path) -> Any:
        return (place / "hand.jsonl").read_bytes()


class CrowdWork(Work):
    """People who submit on the website, while its server is killed."""

    items, people = 20_000, 3
    longest = 1.5

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        os.environ["ERRANDS_ADMIN_PASSWORD"] = "correct horse battery"
        for name in ("errands.web.core.server", "errands.web.crowd.application", "crowd_site",
                     "uvicorn", "websockets", "uvloop", "errands.web.runs.site",
                     "errands.web.env_api.agentgym", "errands.web.shop.site"):  # fmt: skip
            importlib.import_module(name)

    def _serve(self, place: Path, tell: Callable[[str], None]) -> None:
        from errands.web.core.limits import ServerLimits
        from errands.web.server import CrowdConfig, serve

        serve(
            catalog="", goals="", tasks=None, site=None,
            crowd=CrowdConfig("demo", os.environ["ERRANDS_ADMIN_PASSWORD"]),
            store=str(place / "site.sqlite"), host="127.0.0.1", port=0, token=None,
            limits=ServerLimits(), on_start=lambda start: tell(start.address),
        )  # fmt: skip

    def do(self, place: Path, say: Say) -> None:
        """A server, and somebody who works until it is gone."""
        reading, writing = os.pipe()
        worker = os.fork()
        if not worker:
            os.setpgid(0, 0)
            os.close(writing)
            with contextlib.suppress(OSError, EOFError, AssertionError):
                self._work(os.fdopen(reading), say)
            os._exit(0)
        os.close(reading)
        try:
            self._serve(place, lambda address: os.write(writing, f"{address}\n".encode()))
        finally:
            os.close(writing)

    def _work(self, pipe: Any, say: Say) -> None:
        from crowd_site import call, invited
        from shop_served import Shop

        line = pipe.readline()
        if not line:
            return
        shop = Shop(int(line.rpartition(":")[2]))
        known = self.folder / "known.json"
        try:
            if not known.exists():
                rows = "n\n" + "\n".join(map(str, range(self.items)))
                body = {"name": "N", "template": "<input name=a>${n}", "csv": rows, "wanted": 2}
                made = call(shop, "POST", "/v1/office/projects", body)
                project = json.loads(made.body)["project"]["id"]
                tokens = [invited(shop, f"Worker {number}") for number in range(self.people)]
                known.write_text(json.dumps([project, tokens]))
            project, tokens = json.loads(known.read_bytes())
            while True:
                for token in tokens:
                    taken = call(shop, "POST", f"/v1/work/tasks/{project}/accept", token=token)
                    held = json.loads(taken.body)
                    text = f"{held['item']} of {token}"
                    say(f"? {text}")
                    path = f"/v1/work/assignments/{held['id']}/submit"
                    sent = call(shop, "POST", path, {"answers": {"a": text}}, token=token)
                    if sent.status == 200 and sent.body:
                        say(f"! {text}")
        except (http.client.HTTPException, ValueError, KeyError):
            return  # It was killed.

    def check(self, place: Path, said: list[str]) -> None:
        if not (place / "site.sqlite").exists():
            assert not said
            return
        with closing(sqlite3.connect(place / "site.sqlite")) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            try:
                rows = database.execute(
                    "SELECT item, person, answers FROM assignments WHERE status = 'submitted'"
                ).fetchall()
            except sqlite3.OperationalError:
                rows = []  # It was killed before there were tables.
        texts = [json.loads(answers)["a"] for _, _, answers in rows]
        assert len(texts) == len(set(texts)), "twice"
        assert {line[2:] for line in said if line[0] == "!"} <= set(texts), "acknowledged, and lost"
        assert set(texts) <= {line[2:] for line in said if line[0] == "?"}, "nobody sent it"
        items = [item for item, _, _ in rows]
        assert all(items.count(item) <= 2 for item in set(items))
        assert len({(item, person) for item, person, _ in rows}) == len(rows)


KINDS: dict[str, type[Work]] = {
    "runs": Runs, "builds": Builds, "trainings": Trainings, "submissions": Submissions,
    "hand scores": HandScores, "crowd work": CrowdWork,
}  # fmt: skip


def _forked(
    work: Work, place: Path, seconds: float | None, lines: int | None = None
) -> tuple[bool, list[str]]:
    """Do it in a process that is killed after a time, or after so many lines; whether it was, and
    what it said."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        status = 1
        try:
            os.close(reading)
            work.do(place, lambda text: os.write(writing, f"{text}\n".encode()) and None)
            status = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        os._exit(status)
    os.close(writing)
    # Whoever also holds the pipe, ends with it.
    with os.fdopen(reading) as pipe:
        first = [pipe.readline() for _ in range(lines or 0)]
        if seconds is not None:
            time.sleep(seconds)
        if seconds is not None or lines is not None:
            os.kill(process, signal.SIGKILL)
        said = [line.rstrip("\n") for line in (*first, *pipe) if line.endswith("\n")]
    _, status = os.waitpid(process, 0)
    was_killed = os.WIFSIGNALED(status)
    assert was_killed or os.waitstatus_to_exitcode(status) == 0, "it ended by itself, with an error"
    return was_killed, said


def main() -> None:
    kind, folder, kills, seed = sys.argv[1:5]
    os.environ["OMP_NUM_THREADS"] = "1"
    work = KINDS[kind](Path(folder))
    rng = random.Random(f"{kind} {seed}")
    whole: Any = None
    if kind == "crowd work":
        place = Path(folder, "warm")
        place.mkdir()
        began = time.monotonic()
        _forked(work, place, None, lines=30)
        (work.folder / "known.json").unlink()
        seconds = (time.monotonic() - began) * work.longest
    else:
        place = Path(folder, "warm")
        place.mkdir()
        # Here, so that what is imported late has been so for all.
        work.do(place, lambda text: None)
        place = Path(folder, "whole")
        place.mkdir()
        began = time.monotonic()
        _forked(work, place, None)
        seconds = (time.monotonic() - began) * work.longest
        whole = work.told(place)
    hits = processes = rounds = acknowledged = 0
    while hits < int(kills):
        place = Path(folder, f"round-{rounds}")
        place.mkdir()
        said: list[str] = []
        is_killed = True
        while is_killed and (hits < int(kills) or whole is not None):
            # The last one of all may come to its end.
            wait = rng.uniform(0, seconds) if hits < int(kills) else None
            is_killed, more = _forked(work, place, wait)
            said += more
            processes += 1
            hits += is_killed
            work.check(place, said)
        if whole is not None:
            assert work.told(place) == whole, "going on gave something else"
            shutil.rmtree(place)
        acknowledged += sum(not line.startswith("?") for line in said)
        rounds += 1
    told = {"kills": hits, "processes": processes, "rounds": rounds, "acknowledged": acknowledged}
    print(json.dumps({**told, "seconds": round(seconds, 2)}))


if __name__ == "__main__":
    main()
