"""What every command shares: its options, its console, the process that watches over it."""
