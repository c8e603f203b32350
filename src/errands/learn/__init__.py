"""Agents that learn: demonstrations, models, imitation, reinforcement, and what they show."""
