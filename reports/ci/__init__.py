"""What a team's continuous integration uses: the pytest plugin, the gate, and what they share."""
