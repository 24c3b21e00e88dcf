"""The official MCP Inspector as a client, from its command line: tools, prompts and resources over stdio and HTTP.

usage: inspector.py NODE INSPECTOR PROGRAM URL TOKEN-FILE

The memory must be empty. Prints how many checks there were; the first that fails ends it with 1.
"""

import json
import os
import subprocess
import sys

node, inspector, program, url, token_file = sys.argv[1:]
checks = 0


def check(holds, what):
    global checks
    checks += 1
    if not holds:
        sys.exit(f"failed: {what}")


def ask(target, *arguments, status=0):
    """What the Inspector prints for one request."""
    command = [node, inspector, "--cli", *target, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    told = f"{' '.join(arguments)}: {done.returncode}\n{done.stdout[:2000]}\n{done.stderr[:4000]}"
    check((done.returncode == 0) == (status == 0), told)
    return (json.loads(done.stdout) if status == 0 else None), done.stderr


def call(target, tool, status=0, **arguments):
    pairs = [part for name, value in arguments.items() for part in ("--tool-arg", f"{name}={value}")]
    answer, _ = ask(target, "--method", "tools/call", "--tool-name", tool, *pairs, status=status)
    return answer


def session(name, target):
    tools, told = ask(target, "--method", "tools/list", "--strict")
    check("memory_search" in [tool["name"] for tool in tools["tools"]], f"{tools}")
    check("Warning" not in told and "Error" not in told, f"schemas that not every client takes:\n{told}")
    title = f"Seen by the Inspector over {name}"
    stored = call(target, "memory_remember", title=title, keywords='["inspected"]')["structuredContent"]
    check(stored["duplicate"] is False, f"{stored}")
    known = call(target, "memory_query", text=title)["structuredContent"]
    check((known["hit"], known["key"]) == ("STRONG", stored["key"]), f"{known}")
    found = call(target, "memory_search", text=title, limit=1)["structuredContent"]
    check(len(found["results"]) == 1, f"{found}")
    prompts, _ = ask(target, "--method", "prompts/list")
    check([prompt["name"] for prompt in prompts["prompts"]] == ["recall", "remember", "handover"], f"{prompts}")
    prompt, _ = ask(target, "--method", "prompts/get", "--prompt-name", "recall", "--prompt-args", "topic=kettles")
    check("kettles" in prompt["messages"][0]["content"]["text"], f"{prompt}")
    templates, _ = ask(target, "--method", "resources/templates/list")
    check(len(templates["resourceTemplates"]) == 1, f"{templates}")
    uri = f"memory://nodes/{stored['key']}"
    resources, _ = ask(target, "--method", "resources/list")
    check(uri in [resource["uri"] for resource in resources["resources"]], f"{resources}")
    read, _ = ask(target, "--method", "resources/read", "--uri", uri)
    check(title in read["contents"][0]["text"], f"{read}")
    # An error of a tool, and one of the protocol: neither may pass for an answer.
    call(target, "memory_get", status=1, node="nobody-has-this-key")
    call(target, "memory_forget_all", status=1)


home = os.environ["POC_MEMORY_HOME"]
with open(token_file) as token:
    header = f"Authorization: Bearer {token.read().strip()}"
session("stdio", [program, "mcp", "-e", f"POC_MEMORY_HOME={home}"])
session("HTTP", [url, "--transport", "http", "--header", header])
print(f"MCP Inspector: {checks} checks, none failed")
