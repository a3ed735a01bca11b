"""One module per finding code: takes uses and host, yields findings."""
