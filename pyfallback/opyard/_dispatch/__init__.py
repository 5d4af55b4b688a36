"""Where calls go: modes, guards, and what is said about routes."""
