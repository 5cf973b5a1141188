"""Runs the text of warp-specialized kernels on a CPU as a Hopper GPU would, and finds what must not happen.

`launches.py` calls a module's own wrapper and takes the launch; `language.py` stands in for the names that a kernel
uses, and `tiles.py`, `layouts.py` and `memory.py` compute; `scheduler.py` draws an order of its parts; `machine.py`,
`barriers.py` and `shared.py` are the hardware.
"""
