"""Benchmarks: questions that users have, answered next to what they would use instead.

    python -m benchmarks list
    python -m benchmarks run [--full] [--question NAME] [--case NAME] -o results.json
    python -m benchmarks compare before.json after.json
    python -m benchmarks page

`runner` measures, `results` stores and compares, `page` writes docs/explanation/benchmarks.md, and
the modules of `cases` have the questions.
"""
