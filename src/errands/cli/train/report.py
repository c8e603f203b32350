"""`errands train report`: the curves of trainings, on one page."""

from pathlib import Path

import typer

from errands.cli.output import Json, print_json, remarks, results

__all__ = ["report"]


def report(
    checkpoints: list[Path] = typer.Argument(
        metavar="CHECKPOINT...", help="Directories that `errands train` made."
    ),
    out: Path = typer.Option(Path("training.html"), help="The page to write."),
    title: str = typer.Option("", help="The page's title."),
    as_json: bool = Json,
) -> None:
    """Show how trainings went: curves, evaluations, speed, where the time went, settings.

    One HTML page that needs nothing else; several trainings are drawn beside each other. A
    training that is still going on can be looked at, too. --json prints the curves as well.

    Examples:

    \b
      errands train report il
      errands train report il rl --out training.html
    """
    from errands.reports.statistics.training import labelled, read_training
    from errands.reports.writing import training_report

    trainings = [
        read_training(folder, label)
        for folder, label in zip(checkpoints, labelled(checkpoints), strict=True)
    ]
    training_report(trainings, out, title=title)
    if as_json:
        print_json({"written": out, "trainings": trainings})
        return
    for one in trainings:
        for remark in one.remarks:
            remarks.print(f"{one.label}: {remark}")
        listed = ", ".join(
            f"{name.replace('_', ' ')} {value:,.4g}"
            for name, value in one.figures.items()
            if name != "step"
        )
        results.print(f"{one.label}: {one.trained}, {one.step:,} steps; {listed}")
    results.print(f"Written: {out}")
