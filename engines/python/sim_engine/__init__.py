"""Adapters of engines in Python.

An adapter here implements `contract.Engine` and `contract.Simulation`. Phases, clock, memory sampler,
gates, accuracy and files are those of every other adapter: `host` loads the harness as a library.
"""
