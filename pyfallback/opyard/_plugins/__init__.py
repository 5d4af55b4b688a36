"""Packages that bring operators: finding them, and loading them on trial."""
