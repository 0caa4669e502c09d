"""Submissions to the leaderboard: a method's tables in one archive, and the checks that it has to pass."""
