"""Ways to propose events. A learner turns counts of draws into families of nested events."""
