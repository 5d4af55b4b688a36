"""Dispatch: modes, guards, and explanations of routes."""
