"""How fast the policy server makes tokens: all requests at once, against one after another.

    python benchmarks/serve.py [--model byte|smollm2|FOLDER] [--requests N] [--tokens T]

Every request has a prompt of 100 to 200 tokens and is sampled to T new ones, at temperature 1. The
first wave, in which the cache grows and CUDA graphs are captured, is given apart. "over HTTP" asks
the server with our own client from another process. Trust the ratios, not the seconds.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from importlib.util import find_spec

import torch

from aworld.policies import Policy, open_policy
from aworld.serve import Generator, Sampling

FEW = 8  # requests are enough to see how fast it is one after another

CLIENT = """
import asyncio, json, sys, time
from aworld.models.base import ModelRequest
from aworld.models.openai_model import OpenAIModel
url, key, name, requests, tokens = json.loads(sys.argv[1])
model = OpenAIModel(name, base_url=url, api_key=key, token_ids=True, max_tokens=tokens)
def asked(n):
    return ModelRequest([{"role": "user", "content": f"{n} " * 40}], settings={"seed": n})
async def main():
    await model.ask(asked(0))
    begin = time.perf_counter()
    replies = await asyncio.gather(*(model.ask(asked(n)) for n in range(requests)))
    seconds = time.perf_counter() - begin
    print(json.dumps([seconds, sum(reply.completion_tokens for reply, _ in replies)]))
asyncio.run(main())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", action="append", help="may be given several times")
    parser.add_argument("--requests", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    default = ["byte", "smollm2"] if torch.cuda.is_available() else ["byte"]
    for name in options.model or default:
        policy = open_policy(name)
        policy.stop_ids = frozenset()  # every request makes the same number of tokens
        report(policy, options.requests, options.tokens)


def report(policy: Policy, requests: int, tokens: int) -> None:
    print(f"{policy.name} on {policy.device}: {requests} requests of {tokens} new tokens")
    with Generator(policy, max_batch=requests) as generator:
        first = rate_at_once(generator, requests, tokens)
        at_once = max(rate_at_once(generator, requests, tokens) for _ in range(3))
        in_turn = rate_in_turn(generator, min(FEW, requests), tokens)
    print(f"  at once, first wave  {first:10,.0f} tokens/s")
    print(f"  at once              {at_once:10,.0f} tokens/s")
    print(f"  one after another    {in_turn:10,.0f} tokens/s")
    print(f"  ratio                {at_once / in_turn:10,.1f}")
    if find_spec("uvicorn") is not None and find_spec("openai") is not None:
        print(f"  at once over HTTP    {rate_over_http(policy, requests, tokens):10,.0f} tokens/s")


def rate_at_once(generator: Generator, requests: int, tokens: int) -> float:
    prompts = some_prompts(generator.policy, requests)
    samplings = [Sampling(tokens, seed=seed) for seed in range(requests)]
    begin = time.perf_counter()
    generator.generate(prompts, samplings)
    return requests * tokens / (time.perf_counter() - begin)


def rate_in_turn(generator: Generator, requests: int, tokens: int) -> float:
    prompts = some_prompts(generator.policy, requests)
    begin = time.perf_counter()
    for seed, prompt in enumerate(prompts):
        generator.generate([prompt], [Sampling(tokens, seed=seed)])
    return requests * tokens / (time.perf_counter() - begin)


def rate_over_http(policy: Policy, requests: int, tokens: int) -> float:
    from aworld.serve import PolicyServer

    with PolicyServer(policy, max_batch=requests) as server:
        facts = json.dumps([f"{server.url}/v1", server.key, policy.name, requests, tokens])
        command = [sys.executable, "-c", CLIENT, facts]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, made = json.loads(done.stdout)
    return made / seconds


def some_prompts(policy: Policy, requests: int) -> list[list[int]]:
    chosen = random.Random(0)
    lengths = [chosen.randint(100, 200) for _ in range(requests)]
    return [[chosen.randrange(policy.vocab_size) for _ in range(length)] for length in lengths]


if __name__ == "__main__":
    main()
