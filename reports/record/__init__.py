"""The evidence file: how a result is written as JSON, read back and made a result again."""
