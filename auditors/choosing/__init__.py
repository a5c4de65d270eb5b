"""Learning an event that tells two databases apart, from draws that do not judge it."""
