"""python benchmarks/real: see audits.py."""

import sys

from audits import main

sys.exit(main())
