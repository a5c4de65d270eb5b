"""`python -m dpwitness` is the command line."""

from .reports.start import run

if __name__ == "__main__":
    run()
