"""Commands about recorded samples: `dpwitness judge`, `scores` and `conform`."""
