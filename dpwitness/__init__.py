"""Audits differential-privacy mechanisms and hands back a witness when a claim is false."""
