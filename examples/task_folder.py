"""Tasks of your own, in one file: it writes a task folder and plays a page of it.

    python examples/task_folder.py my-tasks
    errands turk info my-tasks
    errands run turk --data my-tasks --agent oracle

A task is a folder with `template.html`, a page with `${column}` for what differs, and `batch.csv`,
a line for each page: inputs in columns of their own, people's answers in `Answer.field`. To test
yours, subclass `errands.testing.TaskFolderConformance`: see tests/examples/test_task_folder.py.
"""

import sys
from pathlib import Path

from errands import TurkEnv

TEMPLATE = """<form>
<p>How does the writer of this sentence feel? <q>${sentence}</q></p>
<label><input type="radio" name="mood" value="glad"> glad</label>
<label><input type="radio" name="mood" value="sad"> sad</label>
<label>Why? <input type="text" name="reason"></label>
<input type="submit">
</form>
"""
BATCH = """sentence,Answer.mood,Answer.reason
"What a fine day!",glad,a fine day
"My tea is cold.",sad,cold tea
"""


def write_tasks(folder: Path) -> Path:
    """A folder of tasks with one task in it."""
    task = folder / "tasks" / "moods"
    task.mkdir(parents=True, exist_ok=True)
    (task / "template.html").write_text(TEMPLATE, encoding="utf-8")
    (task / "batch.csv").write_text(BATCH, encoding="utf-8")
    return folder


def main(folder: Path) -> None:
    env = TurkEnv(write_tasks(folder), observation="text", driver="dom")
    observation, info = env.reset(options={"task": "moods", "row": 0})
    print(observation)
    print([field["name"] for field in info["fields"]])
    env.step("modify_radio('mood', 'glad')")
    env.step("modify_text('reason', 'a fine day')")
    *_, info = env.step("submit()")
    print(info["field_scores"]["paper"])
    env.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "my-tasks"))
