"""The process that runs emitted Triton modules for TileScript: one request a line, one reply a line."""
