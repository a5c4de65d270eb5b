"""What an audit finds: pair, event, counts, bounds, verdict."""
