"""The command that plants faults in a mechanism and tells which of them its claims see."""
