"""Which episodes are samples of the same task, from the first that comes to the last."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aworld.train.episodes import Episode

Key = tuple[str, str, int]  # run, group, round


@dataclass(slots=True)
class Group:
    """Those that are there, and those that were there or will never be."""

    began: int  # how many groups had been taken by then
    members: dict[int, int] = field(default_factory=dict)  # by sample: the episode's number
    lost: set[int] = field(default_factory=set)

    @property
    def arrived(self) -> int:
        return len(self.members) + len(self.lost)


class Place(NamedTuple):
    """Where a new episode goes."""

    round: int
    instead_of: int | None = None  # the number of an episode that it takes the place of


class Groups:
    """Keeps numbers, not episodes. A group ends when it is taken, or has lost all its members."""

    def __init__(self) -> None:
        self._open: dict[Key, Group] = {}  # the oldest first
        self._rounds: dict[tuple[str, str], int] = {}  # the latest of each
        self.taken = 0

    def place(self, episode: Episode) -> Place | None:
        """None: it comes too late, its group has ended. In a run without a name the same sample of
        the same task can come again, and begins another group."""
        name = (episode.run, episode.group_id)
        if name not in self._rounds:
            return Place(0)
        latest = self._rounds[name]
        group = self._open.get((*name, latest))
        if not episode.run:
            goes_on = group is not None and episode.sample not in group.members
            return Place(latest if goes_on else latest + 1)
        if group is None:
            return None
        return Place(latest, group.members.get(episode.sample))

    def join(self, episode: Episode, number: int) -> None:
        name = (episode.run, episode.group_id)
        self._rounds[name] = max(episode.round, self._rounds.get(name, 0))
        group = self._open.setdefault(episode.group, Group(self.taken))
        group.members[episode.sample] = number
        group.lost.discard(episode.sample)

    def leave(self, episode: Episode) -> None:
        group = self._open.get(episode.group)
        if group is not None and group.members.pop(episode.sample, None) is not None:
            group.lost.add(episode.sample)
            if not group.members:
                del self._open[episode.group]

    def take(self, key: Key) -> list[int]:
        """The numbers of its members, in the order of their samples."""
        self.taken += 1
        return [number for _, number in sorted(self._open.pop(key).members.items())]

    def complete(self, samples: int) -> list[Key]:
        return [key for key, group in self._open.items() if group.arrived >= samples]

    def partial(self, samples: int, overtaken_by: int = 0) -> list[Key]:
        """Those that are not complete though so many groups were taken since they began."""
        return [
            key
            for key, group in self._open.items()
            if group.arrived < samples and self.taken - group.began >= overtaken_by
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the members: those join again."""
        return {
            "taken": self.taken,
            "rounds": [[*name, latest] for name, latest in self._rounds.items()],
            "open": [[*key, g.began, sorted(g.lost)] for key, g in self._open.items()],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Groups:
        groups = cls()
        groups.taken = data["taken"]
        groups._rounds = {(run, name): latest for run, name, latest in data["rounds"]}
        for run, name, number, began, lost in data["open"]:
            groups._open[run, name, number] = Group(began, lost=set(lost))
        return groups
