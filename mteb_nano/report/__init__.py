"""From result files to a decision: tables, intervals, paired tests, a page, a submission.

    from mteb_nano.report.reading import read_results
    from mteb_nano.report.boards import make_boards
    from mteb_nano.report.statistics import compare_paired, mean_interval

`statistics` needs NumPy only, so that training-time evaluators can use it.
"""
