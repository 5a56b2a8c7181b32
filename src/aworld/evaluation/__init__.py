"""How good an agent is on a set of tasks, with how much is known of it."""

from aworld.evaluation.comparing import Change, RunComparison, compare_runs
from aworld.evaluation.figures import Evaluation, Figures, assess
from aworld.evaluation.judging import Judged, judged_of, judged_of_run
from aworld.evaluation.running import evaluate

__all__ = [
    "Change",
    "Evaluation",
    "Figures",
    "Judged",
    "RunComparison",
    "assess",
    "compare_runs",
    "evaluate",
    "judged_of",
    "judged_of_run",
]
