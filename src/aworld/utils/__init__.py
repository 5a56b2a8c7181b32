"""The path that older programs import `exec_tasks` by."""
