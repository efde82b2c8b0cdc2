"""The machinery of `lockwatch run`: a command that runs while a lock is held, and never without it."""
