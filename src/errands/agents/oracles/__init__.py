"""Agents that are shown the answers: ceilings to compare with, and what the choice oracle needs."""
