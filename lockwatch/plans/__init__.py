"""Plans that go through phases, each transition under the plan's lock."""
