"""One audit in many pieces: its identity, counts that are kept, and counts that add up.

Hits of a block are a function of (mechanism, event, block), and every event and block is fixed
before it is drawn. So it does not matter who counted a block, when, or how often.
"""
