"""Is a task folder right? Templates and answers of form pages, as tests for anybody's tasks.

Every folder can be read as it stands, every page opens with all its inputs filled in, every answer
has a field to go into, and what people answered can be given on the page and scores.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from errands.envs.turk import TurkEnv
from errands.turk.drivers import Pages
from errands.turk.effects.rows import evenly_spaced
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.pages.driver import OpenPage
from errands.turk.scoring.instance_score import instance_figure, score_page
from errands.turk.tasks.loader import TaskProblem, TaskSet, load_tasks
from errands.turk.tasks.task import Instance, Task
from errands.turk.tasks.template import page_html

__all__ = ["TaskFolderConformance"]


class TaskFolderConformance:
    """To test your own tasks, subclass this and say where they are:

    class TestMine(TaskFolderConformance):
        def folder(self) -> Path:
            return Path("my-tasks")
    """

    instances: int = 3
    """Pages of each task that are opened, evenly over its table."""
    driver: str = "dom"
    """What opens pages; `browser` where scripts make the fields."""
    oracle_score: float = 0.9
    """What a worker who knows the answers reaches at least, on every page."""
    unplaced: frozenset[str] = frozenset()
    """Answer columns that need no field on the page, as those that a script fills in."""

    def folder(self) -> str | Path:
        """The folder: of tasks, or one task's."""
        raise NotImplementedError("Override `folder(self)`: it says where the tasks are.")

    # Reading

    def test_every_folder_is_a_task(self) -> None:
        broken = [problem for problem in self._problems() if problem.fatal]
        assert not broken, f"{broken[0].task} cannot be used: {broken[0].message}"
        assert len(self._tasks()), "there are no tasks"

    def test_nothing_has_to_be_mended(self) -> None:
        remarks = [problem for problem in self._problems() if not problem.fatal]
        assert not remarks, f"{remarks[0].task}: {remarks[0].message}"

    def test_every_task_has_pages(self) -> None:
        for task in self._tasks():
            assert task.instances, f"{task.name} has no instances"

    # Pages

    def test_inputs_are_filled_in(self) -> None:
        for task in self._tasks():
            for instance in self._chosen(task):
                for column in instance.inputs:
                    left = f"${{{column}}}"
                    assert left not in page_html(task, instance), f"{task.name} shows {left}"

    def test_pages_of_a_task_differ(self) -> None:
        for task in self._tasks():
            chosen = self._chosen(task)
            pages = {page_html(task, instance) for instance in chosen}
            assert len(pages) == len(chosen), (
                f"{task.name} shows different inputs on one page: does its template use them?"
            )

    def test_every_answer_has_a_field(self) -> None:
        for task, _, page in self._opened():
            names = {field.name for field in page.fields(list(task.fields))}
            absent = [name for name in task.fields if name not in names | self.unplaced]
            assert not absent, f"{task.name} has no field {absent[0]!r} for its answers"

    # Answers

    def test_answers_can_be_given(self) -> None:
        for task, instance, page in self._opened():
            play_oracle(page, instance)
            figure = instance_figure(score_page(page, instance), "paper")
            assert figure is not None, f"nothing on {task.name}, row {instance.row}, can be scored"
            assert figure >= self.oracle_score, (
                f"who answers {task.name}, row {instance.row}, as people did gets {figure:.2f}"
            )

    def test_pages_are_not_answered_already(self) -> None:
        """On some page of each task something is left to do."""
        full: dict[str, bool] = {}
        for task, instance, page in self._opened():
            figure = instance_figure(score_page(page, instance), "paper")
            full[task.name] = full.get(task.name, True) and figure == 1
        done = [name for name, is_full in full.items() if is_full]
        assert not done, f"who does nothing on {done} gets everything right"

    # Playing

    def test_an_environment_plays_it(self) -> None:
        with closing(TurkEnv(self._tasks(), driver=self.driver)) as env:
            for name in env.tasks.names:
                observation, info = env.reset(options={"task": name, "row": 0})
                assert env.observation_space.contains(observation)
                assert info["fields"], f"{name} has no fields"
                *_, terminated, _, info = env.step("submit()")
                assert terminated, f"{name} cannot be submitted"
                assert info["field_scores"]["paper"], f"{name} has no scores"

    def _tasks(self) -> TaskSet:
        return load_tasks(self.folder())

    def _problems(self) -> tuple[TaskProblem, ...]:
        tasks = self._tasks()
        for _ in tasks:
            pass  # Reading a task tells what is wrong with it.
        return tasks.problems

    def _chosen(self, task: Task) -> list[Instance]:
        rows = evenly_spaced(len(task.instances), self.instances)
        return [task.instances[row] for row in rows]

    def _opened(self) -> Iterator[tuple[Task, Instance, OpenPage]]:
        with closing(Pages(self.driver)) as pages:
            for task in self._tasks():
                for instance in self._chosen(task):
                    with closing(pages.open(task, instance)) as page:
                        yield task, instance, page
