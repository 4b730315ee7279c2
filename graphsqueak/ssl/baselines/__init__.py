"""Classifiers that Stable-HFS is compared with in the thesis and in the benchmarks.

`nearest` has 1-NN and SubSampling, `smooth_functions` has Simple-HFS and EigFun, and `poisson` has
Poisson learning. They need no labels beyond those of `StableHFSClassifier`, and are as accurate in
few cases only; use them to reproduce comparisons.
"""
