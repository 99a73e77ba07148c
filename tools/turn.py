"""What takes too long for every run is judged in turn: each run takes a share of it, consecutive commits take consecutive shares.

DOVETAIL_TEST_TURN numbers the run; ./dev test sets it to the number of commits. Without it everything is judged.
"""

import os
import subprocess


def files_of_last_commits(root, commits, folders=("",)):
    """The files below the folders that the last commits have changed, the latest first."""
    log = subprocess.run(["git", "log", "--format=", "--name-only", "-n", str(commits)], cwd=root, capture_output=True, text=True, check=False)
    return [file for file in dict.fromkeys(log.stdout.split()) if file.startswith(tuple(folders))]


def number():
    """The turn, or None where everything is judged."""
    turn = os.environ.get("DOVETAIL_TEST_TURN")
    return int(turn) if turn else None


def share(items, of):
    """Every `of`th of the items, from another one on in each turn; and which that is, in words."""
    turn = number()
    if turn is None:
        return list(items), f"all {len(items)}"
    first = turn % of
    chosen = list(items)[first::of]
    return chosen, f"share {first + 1} of {of}: {len(chosen)} of {len(items)} (DOVETAIL_TEST_TURN={turn}; ./dev test --all judges all)"
