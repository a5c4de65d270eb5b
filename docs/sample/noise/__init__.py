"""Ten mechanisms of a small library; one does not keep what it says."""
