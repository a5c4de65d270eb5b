"""The command that tells beforehand what a budget notices: `dpwitness tools plan`."""
