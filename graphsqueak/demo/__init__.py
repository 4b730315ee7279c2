"""Demonstration on the shipped mails: a dense graph on disk is sparsified, certified and labeled.

workflow     the steps, with their figures
comparison   seven methods on the same draws of labels (demo --full)
evaluation   accuracy, edges in memory and seconds of a fit
page         files and the HTML page that the command leaves behind
"""
