"""Experience on its way from rollouts to the trainer, in memory and bounded."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from aworld.config import check_count
from aworld.core.trajectory import Trajectory
from aworld.errors import ConfigError, DamagedError
from aworld.store.reader import open_run
from aworld.train.advantages import discounted
from aworld.train.algorithms.settings import check_choice, check_number
from aworld.train.buffer_file import read_buffer, write_buffer
from aworld.train.episodes import Episode, episode_of, episode_of_rollout
from aworld.train.groups import Groups
from aworld.train.selection import NO_REWARD, NO_VERSION, TOO_OLD
from aworld.train.verdicts import Verdict, counted, verdict_on

PUSHED_OUT = "the buffer was full: newer ones pushed it out"
REPLACED = "it was run again"
TOO_LATE = "it came after its group was gone"
NEVER_COMPLETE = "its group was never complete"
DAMAGED = "its record is damaged"

MOST_VERDICTS = 100_000  # on those that were dropped, if nobody asks for them

Partial = Literal["wait", "drop", "use"]


class ExperienceBuffer:
    """Holds at most `max_size` episodes, the newest. Any thread may use it.

    max_staleness  an episode sampled by a policy that is more versions old is dropped
    seed           makes `sample_batch` repeatable
    agent, model   whose calls are trained on, where there are several; see `episode_of`

    Trajectories are turned into episodes when they come in: their tokens, without the messages.
    """

    def __init__(
        self,
        max_size: int = 100_000,
        *,
        max_staleness: int | None = None,
        seed: int = 0,
        agent: str | None = None,
        model: str | None = None,
    ):
        check_count("max_size", max_size, least=1)
        if max_staleness is not None:
            check_count("max_staleness", max_staleness, least=0)
        self.max_size = max_size
        self.max_staleness = max_staleness
        self.agent = agent
        self.model = model
        self.version = 0  # of the policy that is being trained
        self.counts: Counter[str] = Counter()  # of those that were dropped, by reason
        self._lock = threading.RLock()
        self._episodes: dict[int, Episode] = {}  # by number, the oldest first
        self._next = 0
        self._groups = Groups()
        self._dropped: deque[Verdict] = deque(maxlen=MOST_VERDICTS)
        self._read: dict[str, set[tuple[int, int]]] = {}  # of each run: slots and their rounds
        self._random = np.random.default_rng(seed)

    def __len__(self) -> int:
        return len(self._episodes)

    @property
    def episodes(self) -> list[Episode]:
        """All that there are, the oldest first."""
        with self._lock:
            return list(self._episodes.values())

    # -- coming in -------------------------------------------------------------------------------

    def add_trajectory(self, traj: Trajectory | Episode, *, run: str = "") -> Episode:
        """run: a name for what it is part of, as 'step 12'. There, each sample of a task comes
        once; in another run the same task makes another group."""
        if not isinstance(traj, Episode):
            traj = episode_of(traj, run=run, agent=self.agent, model=self.model)
        elif run:
            traj = replace(traj, run=run)
        with self._lock:
            return self._add(traj)

    def add_batch(self, trajs: Iterable[Trajectory | Episode], *, run: str = "") -> list[Episode]:
        return [self.add_trajectory(traj, run=run) for traj in trajs]

    def add_run(
        self,
        run_dir: str | os.PathLike[str],
        *,
        where: str | None = None,
        reward: str | None = None,
    ) -> int:
        """Takes in what a recorded run has that was not taken in before: how many. The run may
        still be going on. `where` and `reward` choose results and scores, as in `open_run`."""
        added = 0
        with open_run(run_dir, reward=reward) as run:
            name = str(run.meta.get("run_id") or run.name)
            for row in run.results(where):
                with self._lock:
                    known = self._read.setdefault(name, set())
                    if (row.slot, row.round) in known:
                        continue
                    known.add((row.slot, row.round))
                try:
                    rollout = run.rollout_at(row.slot)
                except (DamagedError, sqlite3.DatabaseError):
                    with self._lock:
                        self.counts[DAMAGED] += 1
                    continue
                episode = episode_of_rollout(rollout, run=name, agent=self.agent, model=self.model)
                with self._lock:
                    self._add(episode)
                added += 1
        return added

    def _add(self, episode: Episode) -> Episode:
        place = self._groups.place(episode)
        if place is None:
            return self._note(episode, TOO_LATE)
        episode = replace(episode, round=place.round)
        if place.instead_of is not None:
            self._note(self._episodes.pop(place.instead_of), REPLACED)
        number, self._next = self._next, self._next + 1
        self._episodes[number] = episode
        self._groups.join(episode, number)
        self._drop(number, self._too_old(episode))
        if len(self._episodes) > self.max_size:
            self._drop(next(iter(self._episodes)), PUSHED_OUT)
        return episode

    # -- going out -------------------------------------------------------------------------------

    def sample_batch(self, batch_size: int, *, rewarded: bool = True) -> list[Episode]:
        """At random, none of them twice, of those that can train; they stay in the buffer. Fewer if
        there are no more. rewarded=False: also those without a reward, to imitate."""
        check_count("batch_size", batch_size, least=1)
        with self._lock:
            ready = [
                episode
                for episode in self._episodes.values()
                if not episode.why_not and (episode.reward is not None or not rewarded)
            ]
            if not ready:
                raise ConfigError(f"the buffer has nothing to train on: {self._what_there_is()}")
            chosen = self._random.choice(len(ready), min(batch_size, len(ready)), replace=False)
            return [ready[place] for place in chosen]

    def complete_groups(
        self,
        samples: int,
        *,
        partial: Partial = "wait",
        most: int | None = None,
        patience: int = 32,
    ) -> list[list[Episode]]:
        """Takes the groups out of the buffer of which all `samples` have come, the oldest first. A
        rollout that cannot train has come too, and so has one that was dropped.

        partial   of groups that are not complete: 'wait' for the rest; 'drop' them or 'use' what
                  there is of them, when nothing more will come
        most      how many groups are taken
        patience  a group that so many others have overtaken is waited for no longer, but dropped
        """
        check_count("samples", samples, least=1)
        check_count("patience", patience, least=1)
        check_choice("partial", partial, ("wait", "drop", "use"))
        if most is not None:
            check_count("most", most, least=0)
        with self._lock:
            keys = self._groups.complete(samples)
            if partial == "use":
                keys += self._groups.partial(samples)
            taken = [
                [self._episodes.pop(number) for number in self._groups.take(key)]
                for key in keys[:most]
            ]
            if partial != "use":
                overtaken_by = patience if partial == "wait" else 0
                given_up = set(self._groups.partial(samples, overtaken_by))
                for number, episode in list(self._episodes.items()):
                    if episode.group in given_up:
                        self._drop(number, NEVER_COMPLETE)
            return taken

    def compute_returns(self, discount: float = 0.99) -> list[tuple[float, ...] | None]:
        """Of each episode its turns' discounted returns, which it has from then on as `returns`;
        None where the reward is not known."""
        check_number("discount", discount, most=1.0)
        with self._lock:
            for number, episode in self._episodes.items():
                returns = None
                if episode.reward is not None:
                    returns = tuple(discounted(episode.turn_rewards, discount).tolist())
                self._episodes[number] = replace(episode, returns=returns)
            return [episode.returns for episode in self._episodes.values()]

    # -- growing old -----------------------------------------------------------------------------

    def advance(self, version: int) -> None:
        """The policy that is being trained has this version now: what is too old is dropped."""
        with self._lock:
            if version < self.version:
                raise ConfigError(f"the policy has version {self.version}: {version} is older")
            self.version = version
            for number, episode in list(self._episodes.items()):
                self._drop(number, self._too_old(episode))

    def dropped(self) -> list[Verdict]:
        """A verdict on each episode that was dropped since this was last asked."""
        with self._lock:
            verdicts = list(self._dropped)
            self._dropped.clear()
            return verdicts

    def _too_old(self, episode: Episode) -> str:
        if self.max_staleness is None or not episode.rows:
            return ""
        oldest = episode.oldest_version
        if oldest is None:
            return NO_VERSION
        return TOO_OLD if self.version - oldest > self.max_staleness else ""

    def _drop(self, number: int, reason: str) -> None:
        if reason:
            episode = self._episodes.pop(number)
            self._groups.leave(episode)
            self._note(episode, reason)

    def _note(self, episode: Episode, reason: str) -> Episode:
        self.counts[reason] += 1
        self._dropped.append(
            verdict_on(episode, version=self.version, trained=False, reason=reason)
        )
        return episode

    def _what_there_is(self) -> str:
        reasons = Counter(episode.why_not or NO_REWARD for episode in self._episodes.values())
        return counted(reasons) or "it is empty"

    # -- on disk ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """All that is needed to go on, as plain data."""
        with self._lock:
            state = {
                "max_size": self.max_size,
                "max_staleness": self.max_staleness,
                "agent": self.agent,
                "model": self.model,
                "version": self.version,
                "counts": dict(self.counts),
                "groups": self._groups.to_dict(),
                "read": {name: sorted(known) for name, known in self._read.items()},
                "random": self._random.bit_generator.state,
            }
            write_buffer(Path(path), state, list(self._episodes.values()))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ExperienceBuffer:
        """As it was when it was saved."""
        state, episodes = read_buffer(Path(path))
        settings = ("max_size", "max_staleness", "agent", "model")
        buffer = cls(**{name: state[name] for name in settings})
        buffer.version = state["version"]
        buffer.counts.update(state["counts"])
        buffer._read = {name: {(s, r) for s, r in known} for name, known in state["read"].items()}
        buffer._random.bit_generator.state = state["random"]
        buffer._groups = Groups.from_dict(state["groups"])
        for number, episode in enumerate(episodes):
            buffer._episodes[number] = episode
            buffer._groups.join(episode, number)
        buffer._next = len(episodes)
        return buffer
