"""Benchmarks: measured figures beside their floors and aims. Nothing here is asserted in a test."""
