"""Cases by question; every module registers its functions with `runner.case`."""
