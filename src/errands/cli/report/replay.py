"""`errands replay`: episodes done again, and compared with what was recorded."""

from contextlib import ExitStack, closing

import typer

from errands.cli.output import json_lines, print_json, progress_bar, results
from errands.errors import SettingError
from errands.runs.replay import reopen_source, replay
from errands.runs.store.base import Store
from errands.runs.store.places import open_run

__all__ = ["app"]

app = typer.Typer()


@app.command("replay")
def replay_command(
    run: str = typer.Argument(help="The directory of a run, or its address."),
    episodes: list[int] = typer.Argument(None, metavar="[EPISODE]...", help="Numbers; none: all."),
    as_json: bool = json_lines("episode"),
) -> None:
    """Do the actions of episodes again and prove that the same pages and rewards come back.

    Exit status 1 where anything differs.

    Examples:

      errands replay runs/rule 17

      errands replay runs/rule
    """
    with ExitStack() as stack:
        store = stack.enter_context(closing(open_run(run)))
        wanted = episodes or sorted(store.numbers())
        unknown = set(wanted) - store.numbers()
        if unknown:
            raise SettingError(
                f"{run} has no episode {min(unknown)}; it has {len(store.numbers())} of"
                f" {store.info.episodes}."
            )
        source = stack.enter_context(closing(reopen_source(store.info)))
        different = pages = 0
        with progress_bar() as bar:
            for done, episode in enumerate(store.episodes(wanted), 1):
                result = replay(source, episode)
                pages += result.compared
                different += not result.same
                if as_json:
                    print_json(
                        {
                            "episode": result.number,
                            "key": result.key,
                            "same": result.same,
                            "pages": result.pages,
                            "compared": result.compared,
                            "reward": result.reward,
                            "differences": result.differences,
                        }
                    )
                else:
                    for difference in result.differences:
                        results.print(f"episode {result.number} ({result.key}): {difference}")
                bar("replaying", done, len(wanted))
        if not as_json:
            _conclude(store, len(wanted), pages, different)
    if different:
        raise typer.Exit(1)


def _conclude(store: Store, episodes: int, pages: int, different: int) -> None:
    if different:
        results.print(f"{different} of {episodes} episodes are not as they were recorded.")
    elif not pages:
        none = store.info.observations == "none"
        why = "(--observations none)" if none else "(they failed before their first action)"
        results.print(
            f"{episodes} episodes replayed with the same rewards; no fingerprints of pages were"
            f" kept {why}, so pages could not be compared."
        )
    else:
        results.print(
            f"{episodes} episodes replayed: {pages:,} pages and all rewards are the same."
        )
