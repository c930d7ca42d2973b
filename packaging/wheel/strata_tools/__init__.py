"""The program `strata`, which needs no Python. `python -m strata_tools` starts it."""
