"""Reports: figures, plots and pages made from stores of runs, for people to look at."""
