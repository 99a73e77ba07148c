"""The two tiers of the tests: ./dev test runs a fixed sample (docs/explanation/architecture.md, «Tests»), ./dev test --all everything.

./dev test sets DOVETAIL_TESTS=sample; without it everything runs.
"""

import os


def is_sample():
    return os.environ.get("DOVETAIL_TESTS") == "sample"


def judged(names, sample):
    """The names that this tier runs, and a description of them. The sample must consist of such names."""
    names, unknown = list(names), set(sample) - set(names)
    if unknown:
        raise SystemExit(f"the sample has unknown names: {', '.join(sorted(unknown))}")
    if not is_sample():
        return names, f"all {len(names)}"
    chosen = [name for name in names if name in sample]
    return chosen, f"the sample, {len(chosen)} of {len(names)} (./dev test --all runs all)"
