"""A station: several sources of sound heard at once, for months, and what happens with their events."""
