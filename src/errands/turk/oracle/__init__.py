"""Agents that know the answers: the field oracle, the pointer oracle, and baselines beside them."""
