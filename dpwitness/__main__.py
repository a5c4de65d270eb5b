"""`python -m dpwitness` is the command line."""

from .reports.cli import main

if __name__ == "__main__":
    main(prog_name="dpwitness")
