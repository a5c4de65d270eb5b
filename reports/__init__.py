"""The outward face: evidence files, text, JSON, HTML and the command line."""

if __name__ != "dpwitness.reports":
    raise ImportError(f"import dpwitness.reports, not {__name__}; install dpwitness first")
