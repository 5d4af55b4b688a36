"""Parts of opyard.profiler: starting and stopping, schedules, events, averages, classes."""
