"""First-order learners and perceptrons, to compare second-order learners with.

They reproduce published algorithms: gradient descent on all support points (`KernelOGD`), on
Nystrom features (`NOGD`) and on random Fourier features (`FOGD`, `DualSGD`); learners with a budget
of support points (`RBP`, `Forgetron`, `BPAS`, `BOGD`, `Projectron`, `ProjectronPP`). For
applications use `graphsqueak.online.CONKONS`. All are public as names of `graphsqueak.online`.
"""
