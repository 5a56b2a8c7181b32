"""What the servers of this package share: how they listen, and by which names they are reached."""
