"""What a run writes for other programs: one table of formats for all commands.

Read `told` first, which is what every command has to tell, then `table`, then any `as_*`.
"""
