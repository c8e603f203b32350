"""One form page as named tools, for frameworks that bring their own model and loop.

`TurkTools` is to form pages what `ShopTools` is to the shop: `reset(task=..., row=...)` opens a
conversation, `fill`, `read` and `submit` are the tools, and `get_reward()` is the score of what
was submitted. Pages that want a pointer are played with `TurkPointerTools`, in a browser.

    tools = TurkTools(TurkConfig("demo", split="train", max_steps=100))
    conversation = form_messages()
    conversation[-1]["content"] += tools.reset(task="Angry Letter Tone", row=0)
    tools.fill("anger", "5")
    tools.submit()
"""

import functools
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final, NoReturn, Self

from errands.agents.llm.prompts import Prompt, load
from errands.agents.llm.tools import LONGEST_TEXT, EpisodeTools, ToolError, ToolSpec, plain
from errands.agents.llm.transport.messages import Message, clean, system, user
from errands.agents.llm.turk.excerpts import fit_all
from errands.agents.llm.turk.page import BlankField
from errands.envs.turk import TurkEnv
from errands.envs.turk_config import TurkConfig
from errands.errors import SettingError
from errands.turk.actions.action import Action, Value
from errands.turk.drivers import Pages
from errands.turk.pages.field import CHOICES, TEXTS, Field
from errands.turk.tasks.loader import TaskSet, load_tasks
from errands.turk.tasks.task import Instance

__all__ = ["TurkPointerTools", "TurkTools", "form_messages"]

_PROMPT: Final = "turk-conversation"
_FILLED: Final = TEXTS | CHOICES | {"range"}
_ROOM: Final = 60_000
"""Characters of a page that a model is shown, unless it is said otherwise."""
_FORM_TOOLS: Final = (
    ToolSpec.of(
        "fill",
        "Fill in a field of the form.",
        {"name": "the field's name", "value": "what to fill in, or the value of an option"},
    ),
    ToolSpec.of(
        "read",
        "Read the page again, or the lines of HTML around one field.",
        {"name": "the field's name; leave it out for the whole page"},
        optional=("name",),
    ),
    ToolSpec.of("submit", "Submit the form: the task is over.", {}),
)
_POINTER_TOOLS: Final = (
    ToolSpec.of("click", "Click an element.", {"selector": "its CSS selector"}),
    ToolSpec.of(
        "click_at",
        "Click a point of the window.",
        {"x": "number: share of the width, 0 to 1", "y": "number: share of the height, 0 to 1"},
    ),
    ToolSpec.of("type_text", "Type where the cursor is.", {"text": "what to type"}),
    ToolSpec.of("press_key", "Press a key.", {"key": "its name, for example Enter"}),
    ToolSpec.of(
        "drag",
        "Drag an element onto another.",
        {"source": "CSS selector of what is dragged", "target": "CSS selector of where to"},
    ),
    ToolSpec.of(
        "select_text",
        "Select characters of an element's text.",
        {
            "selector": "the element's CSS selector",
            "start": "integer: the first character, from 0",
            "end": "integer: the character after the last",
        },
    ),
    ToolSpec.of("scroll", "Scroll the window down.", {"y": "number: in heights of the window"}),
)


@functools.cache
def _prompt() -> Prompt:
    return load(_PROMPT, _PROMPT)


@functools.lru_cache(maxsize=8)
def _shared_tasks(place: str, split: str) -> TaskSet:
    """A folder is read once for all episodes of a process."""
    return load_tasks(place, split)


def form_messages(*, pointer: bool = False) -> list[Message]:
    """What every conversation begins with: the rules, and a message of the user's to which the
    text of `reset` is added."""
    parts = ["system", "pointer"] if pointer else ["system"]
    return [system("\n\n".join(_prompt().parts[part] for part in parts)), user("")]


class TurkTools(EpisodeTools):
    """A form page, which a model fills in by calling `fill` and `submit`.

    Each call is one action of `errands/Turk-v0`, and one step of `max_steps`, also where it was
    not possible. Nothing that a method returns tells what people answered.
    """

    specs: ClassVar[tuple[ToolSpec, ...]] = _FORM_TOOLS

    def __init__(
        self,
        forms: TurkConfig | None = None,
        *,
        pages: Pages | None = None,
        room: int = _ROOM,
    ) -> None:
        """`forms`: which tasks, by which rules; without it the demo tasks for training. `pages` are
        those of a caller who closes them; `room`: characters of a page that are shown."""
        super().__init__()
        forms = forms or TurkConfig("demo", "train", max_steps=100)
        if not isinstance(forms.tasks, TaskSet):
            shared = _shared_tasks(os.fspath(forms.tasks), forms.split)
            forms = replace(forms, tasks=shared)
        # Pages are shown as they are read here, not as each step of the environment would.
        self._env = TurkEnv(config=replace(forms, observation="html"), pages=pages)
        self._room = room
        self._reward = 0.0
        self._done = False
        self._truncated = False
        self._shown: tuple[str, ...] = ()

    @classmethod
    def at(
        cls,
        task: str,
        row: int,
        calls: Iterable[Any] = (),
        *,
        forms: TurkConfig | None = None,
        pages: Pages | None = None,
        room: int = _ROOM,
    ) -> Self:
        """An episode where these calls have led it: `TurkTools.at(**tools.state, forms=forms)`."""
        tools = cls(forms, pages=pages, room=room)
        tools._begin(task, row)
        tools._replay(calls)
        return tools

    def reset(self, task: str, row: int, **rest: object) -> str:
        """Open another page.

        Args:
            task: The task's name.
            row: Which of its instances, from 0.
            rest: What else a row of a data set may hold; it is not looked at.

        Returns:
            The page and its fields.
        """
        self._begin(task, row)
        return self._page()

    def fill(self, name: str, value: str) -> str:
        """Fill in a field of the form.

        Args:
            name: the field's name
            value: what to fill in, or the value of an option
        """
        arguments = {"name": plain(name), "value": plain(value)}
        kind = self._kind(arguments)
        self._act("fill", arguments, Action(f"modify_{kind}", arguments))
        return self._news(f"{arguments['name']} is filled in.")

    def read(self, name: str = "") -> str:
        """Read the page again, or the lines of HTML around one field.

        Args:
            name: the field's name; leave it out for the whole page
        """
        arguments = {"name": plain(name)}
        if not arguments["name"]:
            self._act("read", {}, Action("get_html"))
            return self._ending(self._page())
        self._field("read", arguments)
        shown = self._act("read", arguments, Action("get_html", arguments))
        return self._ending(clean(shown[: self._room]))

    def submit(self) -> str:
        """Submit the form: the task is over."""
        self._act("submit", {}, Action("submit"))
        return "The form is submitted. The task is over."

    @property
    def task(self) -> str:
        """The task's name."""
        return self._begun.task

    @property
    def index(self) -> int:
        """The row of the task that is played."""
        return self._begun.row

    @property
    def reward(self) -> float:
        """The score of the page, 0 to 1, once it is submitted or no steps are left."""
        return self._reward

    @property
    def reward_parts(self) -> dict[str, Any]:
        """Field by field."""
        if not self._done:
            return {}
        rules = self._env.rules
        return {one.name: one.scores[rules] for one in self._env.scored if rules in one.scores}

    @property
    def done(self) -> bool:
        """Whether the page was submitted, or no steps are left."""
        return self._done

    @property
    def truncated(self) -> bool:
        return self._truncated

    @property
    def state(self) -> dict[str, Any]:
        return {"task": self.task, "row": self.index, **super().state}

    @property
    def _begun(self) -> Instance:
        if self._env.instance is None:
            raise ToolError("There is no page yet; call reset(task=..., row=...) first.")
        return self._env.instance

    def _release(self) -> None:
        self._env.close()

    def _begin(self, task: str, row: int) -> None:
        if task is None or row is None:  # Which the environment would draw.
            raise SettingError(
                f"task={task!r}, row={row!r}: expected a task's name and a row of it."
            )
        self._env.reset(seed=0, options={"task": task, "row": row})
        self._failed = False
        self._calls = []
        self._reward = 0.0
        self._done = False
        self._truncated = False
        self._shown = self._lines()

    def _act(self, tool: str, arguments: Mapping[str, Any], action: Action | None) -> str:
        """Take the step that a call is, and give what it was answered with; a `ToolError` where
        it was not possible. An action of None is none that the page knows."""
        self._check()
        self._note(tool, arguments)
        # A framework that shows every exception to the model would score the episode 0.
        self._failed = True
        _, reward, terminated, truncated, info = self._env.step(action or "no_action()")
        self._failed = False
        if terminated or truncated:
            self._done = True
            self._truncated = truncated
            self._reward = reward
        message = str(info["message"])
        if action is None or info["valid_action"]:
            return message
        raise ToolError(self._ending(clean(message)))

    def _check(self) -> None:
        self._begun  # noqa: B018
        if self._done:
            raise ToolError("The task is over: no tool can be called any more.")

    def _kind(self, arguments: Mapping[str, Value]) -> str:
        """The kind of action that fills in a field."""
        if arguments["value"] is None:
            self._refuse("fill", arguments, "fill needs 'value', a text.")
        if len(str(arguments["value"])) > LONGEST_TEXT:
            self._refuse("fill", arguments, "The value is too long.")
        field = self._field("fill", arguments)
        if field.type not in _FILLED:
            self._refuse("fill", arguments, f"{field.name[:80]!r} cannot be filled in.")
        return "text" if field.type in TEXTS else field.type

    def _field(self, tool: str, arguments: Mapping[str, Value]) -> Field:
        self._check()
        name = arguments["name"]
        found = self._env.page.fields([name]) if isinstance(name, str) else []
        if not found:
            what = repr(name)[:80]
            self._refuse(tool, arguments, f"There is no field {what}.{self._listing()}")
        return found[0]

    def _refuse(self, tool: str, arguments: Mapping[str, Any], problem: str) -> NoReturn:
        """A call that cannot be one of the environment's actions is still a step."""
        self._act(tool, arguments, None)
        raise ToolError(self._ending(problem))

    def _blanks(self) -> list[BlankField]:
        if self._env.config.fields == "hidden":
            return []
        fields = self._env.page.fields(list(self._begun.labels))
        return [
            BlankField(field.name, field.type, field.options)
            for field in fields
            if field.visible and field.type in _FILLED
        ]

    def _lines(self) -> tuple[str, ...]:
        return tuple(blank.line() for blank in self._blanks())

    def _listing(self) -> str:
        names = [blank.name for blank in self._blanks()]
        return f" There are {', '.join(names[:40])}." if names else ""

    def _page(self) -> str:
        names = [blank.name for blank in self._blanks()]
        self._shown = self._lines()
        seen = fit_all(self._env.page.html(), self._room, names)
        return clean(
            _prompt().fill(
                "start",
                page=seen.html,
                note=seen.note,
                fields="\n".join(self._shown) or "(see the page)",
            )
        )

    def _news(self, done: str) -> str:
        """What was done, and the fields where an action brought others into sight or hid some."""
        shown = self._lines()
        if shown != self._shown and not self._done:
            self._shown = shown
            done = clean(f"{done} The fields are now:\n" + "\n".join(shown))
        return self._ending(done)

    def _ending(self, answer: str) -> str:
        return f"{answer} No steps are left: the task is over." if self._done else answer


class TurkPointerTools(TurkTools):
    """A page that is worked with mouse and keyboard; needs the driver `browser`."""

    specs: ClassVar[tuple[ToolSpec, ...]] = (*_FORM_TOOLS, *_POINTER_TOOLS)

    def click(self, selector: str) -> str:
        """Click an element.

        Args:
            selector: its CSS selector
        """
        return self._point("click", "click", selector=selector)

    def click_at(self, x: float, y: float) -> str:
        """Click a point of the window.

        Args:
            x: share of the width, 0 to 1
            y: share of the height, 0 to 1
        """
        return self._point("click_at", "click", x=x, y=y)

    def type_text(self, text: str) -> str:
        """Type where the cursor is.

        Args:
            text: what to type
        """
        return self._point("type_text", "type", text=text)

    def press_key(self, key: str) -> str:
        """Press a key.

        Args:
            key: its name, for example Enter
        """
        return self._point("press_key", "press_key", key=key)

    def drag(self, source: str, target: str) -> str:
        """Drag an element onto another.

        Args:
            source: CSS selector of what is dragged
            target: CSS selector of where to
        """
        return self._point("drag", "drag", source=source, target=target)

    def select_text(self, selector: str, start: int, end: int) -> str:
        """Select characters of an element's text.

        Args:
            selector: the element's CSS selector
            start: the first character, from 0
            end: the character after the last
        """
        return self._point("select_text", "select_text", selector=selector, start=start, end=end)

    def scroll(self, y: float) -> str:
        """Scroll the window down.

        Args:
            y: in heights of the window
        """
        return self._point("scroll", "scroll", y=y)

    def _point(self, tool: str, action: str, **given: Value) -> str:
        arguments = {name: plain(value) for name, value in given.items()}
        self._act(tool, arguments, Action(action, arguments))
        return self._news("Done.")
