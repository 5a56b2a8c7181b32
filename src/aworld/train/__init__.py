"""From experience to a better model. Names are imported when first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aworld.lazy import imported_on_demand

if TYPE_CHECKING:
    from aworld.train.algorithms import ALGORITHMS, Algorithm, Outputs, Recipe, open_algorithm
    from aworld.train.batches import TokenBatch, Totals, batch_of, micro_batches
    from aworld.train.buffer import ExperienceBuffer
    from aworld.train.config import TrainConfig, WarmUp
    from aworld.train.curriculum import Curriculum
    from aworld.train.episodes import Episode, episode_of
    from aworld.train.parallel_tasks import ParallelTaskExecutor
    from aworld.train.pipeline import DistributedTrainingPipeline
    from aworld.train.selection import Selection, select
    from aworld.train.trainer import RLTrainer, StepReport
    from aworld.train.training import TrainResult, train
    from aworld.train.verdicts import Verdict

_HOMES = {
    "ALGORITHMS": "aworld.train.algorithms",
    "Algorithm": "aworld.train.algorithms",
    "Curriculum": "aworld.train.curriculum",
    "DistributedTrainingPipeline": "aworld.train.pipeline",
    "Episode": "aworld.train.episodes",
    "ExperienceBuffer": "aworld.train.buffer",
    "Outputs": "aworld.train.algorithms",
    "ParallelTaskExecutor": "aworld.train.parallel_tasks",
    "RLTrainer": "aworld.train.trainer",
    "Recipe": "aworld.train.algorithms",
    "Selection": "aworld.train.selection",
    "StepReport": "aworld.train.trainer",
    "TokenBatch": "aworld.train.batches",
    "Totals": "aworld.train.batches",
    "TrainConfig": "aworld.train.config",
    "TrainResult": "aworld.train.training",
    "Verdict": "aworld.train.verdicts",
    "WarmUp": "aworld.train.config",
    "batch_of": "aworld.train.batches",
    "episode_of": "aworld.train.episodes",
    "micro_batches": "aworld.train.batches",
    "open_algorithm": "aworld.train.algorithms",
    "select": "aworld.train.selection",
    "train": "aworld.train.training",
}
__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Curriculum",
    "DistributedTrainingPipeline",
    "Episode",
    "ExperienceBuffer",
    "Outputs",
    "ParallelTaskExecutor",
    "RLTrainer",
    "Recipe",
    "Selection",
    "StepReport",
    "TokenBatch",
    "Totals",
    "TrainConfig",
    "TrainResult",
    "Verdict",
    "WarmUp",
    "batch_of",
    "episode_of",
    "micro_batches",
    "open_algorithm",
    "select",
    "train",
]

__getattr__ = imported_on_demand(__name__, _HOMES)
