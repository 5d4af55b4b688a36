"""What opyard.profiler is made of: starting and stopping, schedules, events, averages, classes."""
