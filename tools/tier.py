"""The two tiers of the tests: ./dev test judges a fixed sample (docs/explanation/architecture.md, «Tests»), ./dev test --all everything.

./dev test sets DOVETAIL_TESTS=sample; without it everything is judged.
"""

import os


def is_sample():
    return os.environ.get("DOVETAIL_TESTS") == "sample"


def judged(names, sample):
    """Those of the names that this tier judges, and which they are in words. The sample must consist of such names."""
    names, unknown = list(names), set(sample) - set(names)
    if unknown:
        raise SystemExit(f"the sample names what there is not: {', '.join(sorted(unknown))}")
    if not is_sample():
        return names, f"all {len(names)}"
    chosen = [name for name in names if name in sample]
    return chosen, f"the sample, {len(chosen)} of {len(names)} (./dev test --all judges all)"
