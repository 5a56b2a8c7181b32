"""20 tasks whose agent is made with another framework: it stays inside a function, as it is.

    python examples/04_any_framework.py

It needs: pip install '.[openai]'

Here that is the bare `openai` client, against a little server of this script, so no key is needed.
With pydantic-ai installed (`pip install 'pydantic-ai-slim[openai]'`) it is a pydantic-ai agent.
"""

import importlib.util
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rich.console import Console
from rich.table import Table

from aworld import RunConfig, Runners, Task


class EchoServer(BaseHTTPRequestHandler):
    """Speaks OpenAI's chat completions, and says in capitals what it was asked."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", "content": request["messages"][-1]["content"].upper()}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "echo"}
        body = json.dumps({**reply, "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), EchoServer)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"


def openai_agent(question: str) -> str | None:
    """A plain function may block: it runs in a thread of its own. An async one works as well."""
    from openai import OpenAI

    with OpenAI(base_url=url, api_key="none") as client:
        completion = client.chat.completions.create(
            model="echo", messages=[{"role": "user", "content": question}]
        )
    return completion.choices[0].message.content


def pydantic_agent(question: str) -> str:
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(base_url=url, api_key="none")
    model = OpenAIChatModel("echo", provider=OpenAIProvider(openai_client=client))
    return Agent(model).run_sync(question).output


agent = pydantic_agent if importlib.util.find_spec("pydantic_ai") else openai_agent
tasks = [Task(input=f"what is {n} squared?", agent=agent, id=f"task{n}") for n in range(20)]
responses = Runners.sync_run_task(tasks, RunConfig(worker_num=2, tasks_per_worker=10, timeout=60))
server.shutdown()

table = Table("task", "status", "answer", "seconds", title=f"answers of {agent.__name__}")
for response in responses.values():
    seconds = f"{response.time_cost:.2f}"
    table.add_row(response.id, response.status, str(response.answer or response.msg), seconds)
Console().print(table)
assert all(response.success for response in responses.values())
