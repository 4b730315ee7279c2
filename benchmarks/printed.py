"""Figures as the papers print them: mean and standard deviation, points kept, seconds.

THESIS_5_1: average online squared loss. THESIS_5_2: online errors in percent (the column is headed
"Accuracy"). SKEGD_1: mistakes in percent. None: not reported; of FOGD in the first table the thesis
prints a budget of 30, which are 450 frequencies. FOGD, NOGD and Dual-SGD were copied by the thesis
from the papers that proposed them.
"""

THESIS_5_1 = {
    "parkinsons": {
        "FOGD": (0.04909, 0.0002, None),
        "NOGD": (0.04896, 0.00068, 30),
        "PROS-N-KONS": (0.05798, 0.00136, 18),
        "CON-KONS": (0.05696, 0.00129, 18),
        "B-KONS": (0.05795, 0.00172, 18),
        "BATCH": (0.04535, 2e-05, None),
    },
    "cpusmall": {
        "FOGD": (0.02577, 0.0005, None),
        "NOGD": (0.02559, 0.00024, 30),
        "PROS-N-KONS": (0.02494, 0.00141, 20),
        "CON-KONS": (0.02269, 0.00164, 20),
        "B-KONS": (0.02496, 0.00177, 20),
        "BATCH": (0.0109, 0.00082, None),
    },
    "cadata": {
        "FOGD": (0.04097, 0.00015, None),
        "NOGD": (0.03983, 0.00018, 30),
        "PROS-N-KONS": (0.03095, 0.0011, 20),
        "CON-KONS": (0.0285, 0.00174, 19),
        "B-KONS": (0.03095, 0.00118, 19),
        "BATCH": (0.02202, 2e-05, None),
    },
    "casp": {
        "FOGD": (0.08021, 0.00031, None),
        "NOGD": (0.07844, 8e-05, 30),
        "PROS-N-KONS": (0.06773, 0.00105, 21),
        "CON-KONS": (0.06832, 0.00315, 20),
        "B-KONS": (0.06775, 0.00067, 21),
        "BATCH": (0.061, 3e-05, None),
    },
}

THESIS_5_2 = {
    1.0: {
        "FOGD": (9.06, 0.05, 400),
        "NOGD": (9.55, 0.01, 100),
        "Dual-SGD": (8.35, 0.2, 100),
        "PROS-N-KONS": (9.7, 0.01, 100),
        "CON-KONS": (9.64, 0.01, 101),
        "B-KONS": (9.7, 0.01, 98),
        "BATCH": (8.33, 0.03, None),
    },
    0.01: {
        "PROS-N-KONS": (10.73, 0.12, 436),
        "CON-KONS": (6.23, 0.18, 432),
        "B-KONS": (4.85, 0.08, 100),
        "BATCH": (5.61, 0.01, None),
    },
}

SKEGD_1 = {
    10: {
        "FOGD": (39.793, 0.14),
        "NOGD": (44.714, 0.001),
        "PROS-N-KONS": (35.953, 0.423),
        0.1: (29.034, 1.584),
        0.01: (25.367, 1.134),
        0.005: (25.17, 0.847),
        0.001: (25.626, 0.966),
    },
    20: {
        "FOGD": (29.257, 0.186),
        "NOGD": (40.586, 0.002),
        "PROS-N-KONS": (26.8, 0.802),
        0.1: (16.879, 3.779),
        0.01: (14.7, 0.338),
        0.005: (14.733, 2.562),
        0.001: (14.845, 1.766),
    },
}
