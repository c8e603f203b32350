"""`errands/Turk-v0`: crowdsourcing pages as a Gymnasium environment.

An episode is one instance of a task: the agent reads the page, fills in its fields and submits;
the reward, 0 before, is then the instance's score against what people answered.
"""

import json
import operator
import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import gymnasium

from errands.browser.screenshots import pixels
from errands.envs.config import config_from
from errands.envs.observations import TURK_FORMATS, foreign_format, observation_key
from errands.envs.screenshots import PICTURED, pictured
from errands.envs.snapshots import (
    Snapshot,
    SnapshotError,
    TurkSnapshot,
    changed_options,
    plain_snapshot,
    read_snapshot,
    rng_from,
    rng_text,
    short_hash,
    unfit,
)
from errands.envs.spaces import AnyText, observation_space
from errands.envs.turk_config import TurkConfig
from errands.errors import ErrandsError, SettingError
from errands.turk.actions.action import Action
from errands.turk.actions.grammar import (
    GrammarError,
    format_action,
    make_action,
    parse_answer,
)
from errands.turk.drivers import Pages
from errands.turk.effects.first_use import prove_on_first_use
from errands.turk.pages.driver import ActionError, OpenPage
from errands.turk.pages.field import Field
from errands.turk.scoring.instance_score import ScoredField, instance_figure, score_page
from errands.turk.scoring.metrics import DISPLAYED, SUBMITTED
from errands.turk.tasks.loader import TaskSet, load_tasks
from errands.turk.tasks.task import Instance, Task

__all__ = ["FormActionText", "TurkEnv"]

_LONGEST_RECORD: Final = 2**20
"""Characters of actions that are kept for a snapshot: a session of a server must stay small."""


class FormActionText(AnyText):
    """Any text; samples are calls that a form page understands."""

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        if self.np_random.random() < 0.2:
            return "submit()"
        return f"modify_text({super().sample()!r}, {super().sample()!r})"


class TurkEnv(gymnasium.Env[Any, Any]):
    """A worker with one form page.

    ## Action space
    A text in a closed grammar, one call or several: `modify_text('name', 'value')`,
    `modify_radio`, `modify_checkbox`, `modify_select`, `modify_range`, `submit()` and the others
    of docs/guides/form-pages.md, or JSON tool calls. `step` also takes an `Action`, or a
    dictionary with `name` and `arguments`. What is malformed or impossible changes nothing, and
    `info["message"]` says why; `info["valid_action"]` is then False. `info["page_changed"]` says
    whether the page is another than before.

    ## Observation space
    `html` the page as it is now, `relevant` the lines around each field, `text` what a person
    reads, `screenshot` pixels (browser only), `html+screenshot` both.

    ## Rewards
    0.0, and at the end the mean score of the fields that count, under `rules`: `paper` or
    `released`, where displayed fields count, or `submitted`, where those count that the page
    submits, hidden ones among them.

    ## Starting state
    The untouched page of `reset(options={"task": name, "row": n})`, else of a task drawn
    uniformly from the split and one of its instances.

    ## Episode end
    Terminated by `submit()`; after `max_steps` (None: never) the page is taken as it is, too,
    and the episode is truncated. `info` then has `score`, `success` and `field_scores`.

    ## Arguments
    The options of `TurkConfig`, in its order or by name, or a `config`. `pages` are those of a
    caller who closes them.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        *arguments: Any,
        config: TurkConfig | None = None,
        pages: Pages | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.config = config = config_from(TurkConfig, config, arguments, options)
        if render_mode not in (None, "ansi"):
            raise SettingError(f"render_mode={render_mode!r}: expected 'ansi' or None.")
        self._format = foreign_format(TURK_FORMATS, config.observation)
        tasks = config.tasks
        self.tasks = (
            tasks if isinstance(tasks, TaskSet) else load_tasks(os.fspath(tasks), config.split)
        )
        if not len(self.tasks):
            raise SettingError(f"The split {config.split!r} of {tasks} has no tasks.")
        self.pages = pages or Pages(config.driver, submits=config.rules == SUBMITTED)
        self._own_pages = pages is None
        if config.observation in PICTURED:
            self.pages.needs_pictures = True
        self.rules = config.rules
        self.max_steps = config.max_steps
        self.render_mode = render_mode
        self._mode = str(config.observation) if self._format is None else self._format.name
        self._fields_given = config.fields == "given"
        self.observation_space = observation_space(config.observation)
        self.action_space = FormActionText()
        self._page: OpenPage | None = None
        self.instance: Instance | None = None
        self._over = self._truncated = False

    @property
    def observation(self) -> str:
        """The name of what the environment shows."""
        return self._mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Open an instance: `options` may name a `task` and a `row`."""
        return self.begin(*self.choose(seed, options or {}))

    def choose(self, seed: int | None, options: Mapping[str, Any]) -> tuple[Task, Instance]:
        """What the next episode is about; the one being played goes on."""
        super().reset(seed=seed)
        return self._chosen(options)

    def begin(self, task: Task, instance: Instance) -> tuple[Any, dict[str, Any]]:
        """Begin an episode on the untouched page of an instance."""
        self._leave()
        split = self.tasks.split_of(task.name)
        prove_on_first_use([(task, split)], self.pages, self.config.prove)
        self._page = self.pages.open(task, instance)
        self.instance = instance
        self._task = task
        self._steps = 0
        self._over = False
        self._truncated = False
        self._valid = self._changed = True
        self._scores: list[ScoredField] = []
        self._message = ""
        self._record: list[str] | None = []
        self._room = _LONGEST_RECORD
        self._held: dict[str, list[str]] | None = None
        self._html = self._page.html()
        return self._observe(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Do what an answer asks for; after the end nothing changes any more."""
        if self._page is None or self.instance is None:
            raise ErrandsError("The environment has no episode yet; call reset() first.")
        if self._over:
            self._valid = self._changed = False
            return self._observe(), 0.0, not self._truncated, self._truncated, self._info()
        self._steps += 1
        self._message = ""
        submitted = self._do(action)
        before, self._html = self._html, self._page.html()
        self._changed = self._differs() or self._html != before
        truncated = not submitted and self.max_steps is not None and self._steps >= self.max_steps
        reward = 0.0
        if submitted or truncated:
            self._over = True
            self._truncated = truncated
            self._scores = self._scored_page()
            reward = self._score()
        return self._observe(), reward, submitted, truncated, self._info()

    def snapshot(self) -> Snapshot:
        """The episode and the generator of the next ones, as plain data that JSON can hold: the
        instance, and the actions that `step` carried out."""
        if self._page is None or self.instance is None:
            raise ErrandsError("The environment has no episode yet; call reset() first.")
        if self._record is None:
            raise SnapshotError(
                f"The actions of this episode are longer than {_LONGEST_RECORD:,} characters; no"
                " more are kept for a snapshot."
            )
        saved = TurkSnapshot(
            of=self.fingerprint,
            rng=rng_text(self.np_random),
            task=self.instance.task,
            row=self.instance.row,
            data=self._data(self._task),
            actions=tuple(self._record),
            steps=self._steps,
            over=self._over,
            truncated=self._truncated,
            valid_action=self._valid,
            page_changed=self._changed,
            message=self._message,
        )
        return plain_snapshot(saved)

    def restore(self, snapshot: Snapshot) -> tuple[Any, dict[str, Any]]:
        """Go on where a snapshot was taken, here or in another environment of the same tasks and
        options: its actions are carried out again. Gives what the last reset or step showed."""
        return self.resume(self.read(snapshot))

    def read(self, snapshot: Snapshot) -> TurkSnapshot:
        """What a snapshot says, if it is of these tasks and options."""
        saved = read_snapshot(TurkSnapshot, snapshot, self.fingerprint)
        task, _ = self._chosen({"task": saved.task, "row": saved.row})
        if saved.data != (here := self._data(task)):
            raise SnapshotError(
                f"The snapshot's task {saved.task!r} is {saved.data[:60]!r}, and here it is"
                f" {here!r}: its page or its answers are others."
            )
        rng_from(saved.rng)
        return saved

    def resume(self, saved: TurkSnapshot) -> tuple[Any, dict[str, Any]]:
        """The episode of a snapshot."""
        self.begin(*self._chosen({"task": saved.task, "row": saved.row}))
        for text in saved.actions:
            self._do(text)
            if not self._valid:
                self._leave()
                raise unfit(f"the action {text[:60]!r}, which is not possible: {self._message}")
        self._html = self.page.html()
        self._held = None
        self._steps = saved.steps
        self._over = saved.over
        self._truncated = saved.truncated
        self._valid = saved.valid_action
        self._changed = saved.page_changed
        self._message = saved.message
        if self._over:
            self._scores = self._scored_page()
        self.np_random = rng_from(saved.rng)
        return self._observe(), self._info()

    @cached_property
    def fingerprint(self) -> str:
        """The tasks and the options in one line: where it is the same, and the tasks hold the
        same, episodes go on the same."""
        parts = [
            f"Turk tasks:{short_hash(chr(10).join(self.tasks.names).encode())}",
            observation_key(TURK_FORMATS, self.config.observation),
            changed_options(self.config, ("tasks", "driver", "prove")),
        ]
        return " ".join(filter(None, parts))

    @property
    def over(self) -> bool:
        """Whether the page was submitted, or no steps are left."""
        return self._over

    @property
    def truncated(self) -> bool:
        """Whether the steps ran out before the page was submitted."""
        return self._truncated

    @property
    def page(self) -> OpenPage:
        """The page being worked on."""
        if self._page is None:
            raise ErrandsError("The environment has no episode yet; call reset() first.")
        return self._page

    def picture(self, name: str | None = None) -> bytes:
        """The window as PNG, scrolled to a field where one is named; it takes a browser, and is no
        step of the episode."""
        if name is not None:
            self.page.perform(Action("scroll_to_element", {"name": name}))
        return self.page.screenshot()

    @property
    def scored(self) -> list[ScoredField]:
        """The fields that counted, once the episode is over."""
        return self._scores

    def render(self) -> str | None:
        """The page's visible text."""
        if self.render_mode is None or self._page is None:
            return None
        return self._page.text()

    def close(self) -> None:
        self._leave()
        if self._own_pages:
            self.pages.close()

    def _chosen(self, options: Mapping[str, Any]) -> tuple[Task, Instance]:
        unknown = [name for name in options if name not in ("task", "row")]
        if unknown:
            raise SettingError(f"reset has no option {unknown[0]!r}; expected 'task' or 'row'.")
        name = options.get("task")
        task = self._drawn() if name is None else self.tasks.task(str(name))
        row = options.get("row")
        if row is None:
            row = int(self.np_random.integers(len(task.instances)))
        try:
            return task, task.instances[range(len(task.instances))[operator.index(row)]]
        except (IndexError, TypeError):
            raise SettingError(
                f"The task {task.name!r} has no row {row!r}; expected 0 to"
                f" {len(task.instances) - 1}."
            ) from None

    def _drawn(self) -> Task:
        """A task at random, of those that can be played here."""
        names = self.tasks.names
        task = self.tasks.task(names[int(self.np_random.integers(len(names)))])
        if self.pages.can_open(task):
            return task
        # Drawn anew, and every time so: a seed leads to one episode.
        names = self.pages.playable(self.tasks)
        return self.tasks.task(names[int(self.np_random.integers(len(names)))])

    def _data(self, task: Task) -> str:
        """What a page depends on: its task, and who shows it."""
        return f"{task.checksum[:12]} {self.pages.shown_by(task)}"

    def _do(self, answer: Any) -> bool:
        """Carry out an answer; True once it submits. What goes wrong becomes the message."""
        assert self._page is not None
        self._valid = True
        self._performed = False
        try:
            for action in _actions(answer):
                if action.name == "submit":
                    return True
                if self._held is None:
                    self._held = self._values()
                self._performed = True
                given = self._page.perform(action)
                self._message = given if isinstance(given, str) else ""
                if given is None:
                    self._keep(action)
        except (ActionError, GrammarError) as failure:
            self._valid = False
            self._message = str(failure)
        return False

    def _keep(self, action: Action) -> None:
        """Remember what a page was asked to do, as far as there is room for it."""
        text = format_action(action)
        self._room -= len(text)
        if self._room < 0:
            self._record = None
        elif self._record is not None:
            self._record.append(text)

    def _differs(self) -> bool:
        """Whether the fields hold something else, which the markup need not show."""
        if not self._performed:
            return False
        before, self._held = self._held, self._values()
        return before != self._held

    def _values(self) -> dict[str, list[str]]:
        return self.page.values_of(self._instance().labels)

    def _scored_page(self) -> list[ScoredField]:
        """What the page holds; under `submitted` also what it sends, which ends it."""
        return score_page(self.page, self._instance(), submit=self.rules == SUBMITTED)

    def _score(self) -> float:
        return instance_figure(self._scores, self.rules) or 0.0

    def _observe(self) -> Any:
        page = self.page
        if self._format is not None:
            return self._format(page)
        if self._mode == "html":
            return self._html
        if self._mode == "text":
            return page.text()
        if self._mode == "relevant":
            windows = (page.html(field.name) for field in self._fields() if field.visible)
            return "\n\n".join(windows)
        picture = pixels(page.screenshot())
        return pictured(self._mode, self._html, picture)

    def _instance(self) -> Instance:
        assert self.instance is not None
        return self.instance

    def _fields(self) -> list[Field]:
        return self.page.fields(list(self._instance().labels))

    def _info(self) -> dict[str, Any]:
        instance = self._instance()
        info: dict[str, Any] = {
            "task": instance.task,
            "row": instance.row,
            "message": self._message,
            "valid_action": self._valid,
            "page_changed": self._changed,
        }
        if self._fields_given:
            info["fields"] = [
                {
                    "name": field.name,
                    "type": field.type,
                    "visible": field.visible,
                    "options": list(field.options),
                }
                for field in self._fields()
            ]
        if self._over:
            score = info["score"] = self._score()
            info["success"] = score >= 1.0
            info["field_scores"] = {
                rules: {f.name: f.scores[rules] for f in self._scores if rules in f.scores}
                for rules in dict.fromkeys((*DISPLAYED, self.rules))
            }
        return info

    def _leave(self) -> None:
        if self._page is not None:
            self._page.close()
            self._page = None


def _actions(answer: Any) -> list[Action]:
    if isinstance(answer, Action):
        return [make_action(answer.name, [], dict(answer.arguments))]
    if isinstance(answer, Mapping):
        return parse_answer(json.dumps(dict(answer), default=str))
    return parse_answer(str(answer))
