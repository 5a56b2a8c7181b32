"""Makes responses of the outcomes that an engine gives back."""

from __future__ import annotations

from collections.abc import Callable

from aworld.core.task import TaskResponse
from aworld.engines.base import Outcome
from aworld.engines.outcomes import OutcomeStream
from aworld.errors import AccessError
from aworld.intake import Intake, Ticket
from aworld.ledger import Ledger
from aworld.rollout import Report

Batch = list[tuple[Ticket, TaskResponse]]


class Reception:
    """Has one reader, like the outcomes themselves."""

    def __init__(self, outcomes: OutcomeStream, intake: Intake, ledger: Ledger):
        self._outcomes = outcomes
        self._intake = intake
        self._ledger = ledger

    def take(self, *, wait: bool = True) -> Batch | None:
        """All responses that are there; None: there are no more."""
        outcomes = self._outcomes.take(wait=wait)
        if outcomes is None:
            if self._ledger.refused is not None:
                raise AccessError(self._ledger.refused)
            return None
        return [self._answered(outcome) for outcome in outcomes]

    @property
    def is_refused(self) -> bool:
        """Whether a model's server lets nobody in: what failed for that has not run."""
        return self._ledger.refused is not None

    @property
    def is_complete(self) -> bool:
        """Whether there are no tasks but those that were taken up."""
        return self._intake.all_taken_up

    def listen(self, listener: Callable[[], None] | None) -> None:
        """`listener` is called, in another thread, whenever there is something to take."""
        self._outcomes.listen(listener)

    def close(self) -> None:
        """There is nothing to wait for."""

    def _answered(self, outcome: Outcome) -> tuple[Ticket, TaskResponse]:
        ticket = self._intake.tickets.pop(outcome.index)
        response = _response(ticket.task_id, outcome)
        response.id, response.group_id = ticket.id, ticket.task_id
        response.sample_index = ticket.sample
        response.worker, response.began = outcome.worker, outcome.began
        spent = self._ledger.settle(outcome.index)
        if spent.model_calls and not response.usage:
            response.usage = spent._asdict()
        if response.reward is None and not response.success and self._intake.reward is not None:
            from aworld.rewards.combined import value_of_failure

            response.reward = value_of_failure(self._intake.reward, response.status)
        self._intake.answered(ticket.slot, response)
        return ticket, response


def _response(task_id: str, outcome: Outcome) -> TaskResponse:
    """The worker's own response, or one that says why there is none."""
    report = None if outcome.value is None else Report._make(outcome.value).response(task_id)
    if report is not None and outcome.status == "success":
        return report
    response = TaskResponse(
        id=task_id,
        status=outcome.status,
        error=outcome.error,
        time_cost=outcome.seconds,
        attempts=outcome.attempts,
    )
    if report is not None:  # stopped, but it could still say how far it came
        response.usage = report.usage
        response.trajectory = report.trajectory
        assert response.trajectory is not None
        response.trajectory.status = outcome.status
    return response
