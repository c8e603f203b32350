"""Conformance kits: tests that anyone can run on an environment, agent, driver or site reader."""
