"""Who does the work in a task."""
