"""Optimizers, schedules of their learning rates, and averages of weights."""
