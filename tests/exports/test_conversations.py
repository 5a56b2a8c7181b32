"""Model calls become conversations again, whoever spoke in between."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from recorded import says, step, team, user, worked

from aworld.exports.conversations import Conversation, conversations, main_agent


def texts(conversation: Conversation) -> list[str]:
    return [message["content"] for message in conversation.messages]


def test_calls_that_go_on_from_each_other_are_one_conversation():
    first = [user("a")]
    second = [*first, says("b"), user("c")]
    (found,) = conversations([step(first, says("b")), step(second, says("d"))])
    assert texts(found) == ["a", "b", "c", "d"]
    assert (found.given, len(found.calls)) == (1, 2)


def test_a_rewritten_context_begins_a_new_conversation():
    steps = [step([user("a")], says("b")), step([user("in short: a, b")], says("d"))]
    assert [texts(found) for found in conversations(steps)] == [["a", "b"], ["in short: a, b", "d"]]


def test_asking_the_same_again_is_another_conversation():
    steps = [step([user("a")], says("b")), step([user("a")], says("c"))]
    assert [texts(found) for found in conversations(steps)] == [["a", "b"], ["a", "c"]]


def test_a_reply_that_is_sent_back_without_the_extras_of_the_server_is_the_same():
    reply = says("b", refusal=None, annotations=[], reasoning_content="hm")
    (found,) = conversations(
        [step([user("a")], reply), step([user("a"), says("b"), user("c")], says("d"))]
    )
    assert texts(found) == ["a", "b", "c", "d"]


def test_agents_do_not_go_on_with_what_others_said():
    steps = [
        step([user("a")], says("b"), agent="one"),
        step([user("a"), says("b"), user("c")], says("d"), agent="two"),
    ]
    assert [found.agent for found in conversations(steps)] == ["one", "two"]


def test_a_helper_that_is_asked_twice_at_once_has_two_conversations():
    answer, steps = worked(team(), "Go.")
    found = conversations(steps)
    assert sorted((one.agent, len(one.calls)) for one in found) == [
        ("lead", 2),
        ("lead/helper", 2),
        ("lead/helper", 2),
    ]
    helpers = [texts(one)[-1] for one in found if one.agent == "lead/helper"]
    assert sorted(helpers) == ["ONE!", "TWO!"]
    assert main_agent(found, answer) == "lead"


def test_the_main_agent_is_the_outermost_then_the_one_that_answered_then_the_last():
    def main(answer, *spoken):
        return main_agent(
            conversations([step([user("q")], says(text), agent=path) for path, text in spoken]),
            answer,
        )

    assert main("x", ("team", "x"), ("team/a", "x")) == "team"
    assert main("x", ("team/a", "x"), ("team/b", "y")) == "team/a"
    assert main({"a": 1}, ("team/a", "x"), ("team/b", "y")) == "team/b"
    assert main("x") is None


def test_steps_without_a_model_call_are_no_conversation():
    assert conversations([{"agent": "f", "action": 1}, {"agent": "f", "model_call": None}]) == []


turns = st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3)), min_size=1, max_size=5)


@given(st.lists(turns, min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_conversations_that_run_side_by_side_come_back_whole(spoken, random):
    waiting, whole = [], []
    for number, exchange in enumerate(spoken):
        messages, steps = [user(f"conversation {number}")], []
        for reply, answer in exchange:
            steps.append(step(list(messages), says(reply)))
            messages += [says(reply), user(answer)]
        waiting.append(steps)
        whole.append(messages[:-1])
    mixed = []
    while any(waiting):
        mixed.append(random.choice([steps for steps in waiting if steps]).pop(0))
    found = [one.messages for one in conversations(mixed)]
    assert sorted(map(str, found)) == sorted(map(str, whole))
