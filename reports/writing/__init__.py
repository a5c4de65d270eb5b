"""Files written whole or not at all, the width of a terminal, streams that may be closed."""
