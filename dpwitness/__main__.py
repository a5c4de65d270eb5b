"""`python -m dpwitness` is the command line."""

from .reports.guardian import run

if __name__ == "__main__":
    run()
