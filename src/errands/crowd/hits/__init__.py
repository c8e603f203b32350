"""Crowd tasks (HITs): projects, assignments, uploads, results, agreement."""
