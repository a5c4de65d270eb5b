"""The evidence file: records of results, and what they were made with; read only when checked."""
