"""The command about the releases of one package: `sweep`."""
