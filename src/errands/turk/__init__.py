"""TurkingBench: crowdsourcing pages that an agent reads and fills in, and how answers score.

`tasks` are read from folders, `pages` are what an agent meets, `dom` and `browser` are the two
drivers that open them, `actions` is what can be done, `scoring` compares the answers with those
of people, `oracle` knows them, and `effects` replays what scripts do where there is no browser.

    tasks = load_tasks("demo")
    page = Pages("dom").open(task := tasks.task("Teapot Reviews"), task.instances[0])
    page.perform(Action("modify_radio", {"name": "stars", "value": "5"}))
"""

from typing import TYPE_CHECKING

from errands.errors import TaskError
from errands.lazy import lazy_exports

__all__ = [
    "Action",
    "ActionError",
    "DomDriver",
    "Driver",
    "DriverError",
    "Field",
    "Instance",
    "OpenPage",
    "Pages",
    "SubmittedField",
    "Task",
    "TaskError",
    "TaskSet",
    "load_tasks",
    "parse_answer",
    "score",
]

if TYPE_CHECKING:
    from errands.turk.actions.action import Action
    from errands.turk.actions.grammar import parse_answer
    from errands.turk.dom.driver import DomDriver
    from errands.turk.drivers import Pages
    from errands.turk.pages.driver import ActionError, Driver, DriverError, OpenPage
    from errands.turk.pages.field import Field, SubmittedField
    from errands.turk.scoring.metrics import score
    from errands.turk.tasks.loader import TaskSet, load_tasks
    from errands.turk.tasks.task import Instance, Task
else:
    __getattr__ = lazy_exports(__name__)
