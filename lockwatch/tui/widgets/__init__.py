"""The widgets: each draws lines, and only those that changed."""
