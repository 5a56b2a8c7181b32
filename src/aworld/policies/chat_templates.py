"""Chat templates for models that come without one, or with one that knows no tools."""

from __future__ import annotations

from aworld.errors import ConfigError

# ChatML with tools in the way of Hermes. No turn is ever left out or written anew, so that a
# conversation begins, token for token, with what the model was shown before.
HERMES = """\
{%- set told = messages[0].content if messages[0].role in ("system", "developer") else "" -%}
{%- if told or tools -%}
{{- "<|im_start|>system\\n" + told -}}
{%- if tools -%}
{{- ("\\n\\n" if told else "") + "Tools:\\n" -}}
{%- for tool in tools -%}{{- tool.function | tojson + "\\n" -}}{%- endfor -%}
{{- 'To use one, write <tool_call>\\n{"name": ..., "arguments": {...}}\\n</tool_call>' -}}
{%- endif -%}
{{- "<|im_end|>\\n" -}}
{%- endif -%}
{%- for message in messages -%}
{%- if message.role == "assistant" -%}
{{- "<|im_start|>assistant\\n" + (message.content or "") -}}
{%- for call in message.tool_calls or [] -%}
{{- "\\n" if message.content or not loop.first else "" -}}
{%- set arguments = call.function.arguments -%}
{{- '<tool_call>\\n{"name": ' + call.function.name | tojson + ', "arguments": ' -}}
{{- arguments if arguments is string else arguments | tojson -}}
{{- "}\\n</tool_call>" -}}
{%- endfor -%}
{{- "<|im_end|>\\n" -}}
{%- elif message.role == "tool" -%}
{{- "<|im_start|>user\\n<tool_response>\\n" + message.content -}}
{{- "\\n</tool_response><|im_end|>\\n" -}}
{%- elif not (loop.first and message.role in ("system", "developer")) -%}
{{- "<|im_start|>" + message.role + "\\n" + message.content + "<|im_end|>\\n" -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- "<|im_start|>assistant\\n" -}}{%- endif -%}
"""

TEMPLATES = {"hermes": HERMES}


def chosen_template(wanted: str | None, own: str | None, model: str) -> str:
    """A template of ours by its name, the text of one, or the model's own."""
    if wanted is None and own is None:
        known = ", ".join(TEMPLATES)
        raise ConfigError(
            f"model {model!r} has no chat template: give chat_template, a Jinja text or one of "
            f"ours ({known})"
        )
    return TEMPLATES.get(wanted, wanted) if wanted is not None else str(own)
