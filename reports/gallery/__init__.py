"""The page, tables and pictures that `dpwitness reproduce --out` writes."""
