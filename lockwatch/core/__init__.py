"""The shared lock core: locks with a TTL in one SQL table, and the rules by which they change hands."""
