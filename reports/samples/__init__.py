"""Commands about recorded samples: `dpwitness judge` and `dpwitness scores`."""
