"""Figures of runs: estimates with intervals, comparisons, samples."""
