"""The library of actions, and the grammar in which model answers name them."""
