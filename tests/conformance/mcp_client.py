"""The official Python SDK as a client: tools, prompts and resources, right and wrong, in both eras of the protocol.

usage: mcp_client.py stdio PROGRAM | mcp_client.py http URL TOKEN-FILE READ-TOKEN-FILE

The memory must be empty. Prints how many checks there were; the first that fails ends it with 1.
"""

import asyncio
import json
import os
import sys
import uuid

import httpx2
from jsonschema import Draft202012Validator
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

READS = {"memory_search", "memory_get", "memory_history"}
READS |= {"memory_query", "memory_explore", "memory_classify", "memory_stats"}
WRITES = {"memory_remember", "memory_link", "memory_feedback"}
ERAS = [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28"), ("auto", "2026-07-28")]

checks = 0


def check(holds, what):
    global checks
    checks += 1
    if not holds:
        sys.exit(f"failed: {what}")


async def refused(waiting, code, what):
    """The request must end with an error of the protocol."""
    try:
        answer = await waiting
    except MCPError as error:
        check(error.error.code == code, f"{what}: {error.error}")
        return error.error
    sys.exit(f"failed: {what} was answered: {answer}")


async def call(client, tool, arguments):
    """What a tool answers."""
    answer = await client.call_tool(tool, arguments)
    check(not answer.is_error, f"{tool} {arguments}: {answer.content}")
    structured = answer.structured_content
    check(structured["schema_version"] == 1, f"{tool} has no version: {structured}")
    check(json.loads(answer.content[0].text) == structured, f"{tool}: text and structure differ")
    return structured


async def wrong(client, tool, arguments, field, kind):
    """A wrong argument is the tool's error, with the field and what belongs there."""
    answer = await client.call_tool(tool, arguments)
    check(answer.is_error, f"{tool} {arguments} was taken")
    told = json.loads(answer.content[0].text)
    check(told["error"]["code"] == "invalid_argument", f"{tool}: {told}")
    check(told["error"].get("at", {}).get("field") == field, f"{tool} {arguments}: {told['error']}")
    check(told["expected"]["type"] == kind, f"{tool} {arguments}: {told['expected']}")
    Draft202012Validator.check_schema(told["expected"])


async def listed(client, writes):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    check(READS <= tools.keys(), f"tools are missing: {READS - tools.keys()}")
    check("memory_delete" not in tools, "memory_delete is offered")
    check(WRITES <= tools.keys() if writes else not WRITES & tools.keys(), f"what writes: {sorted(tools)}")
    for name, tool in tools.items():
        Draft202012Validator.check_schema(tool.input_schema)
        check(tool.output_schema is None, f"{name} makes the list longer than calls need")
        check(tool.annotations.read_only_hint or writes, f"{name} is offered to a reader")
        check(tool.description and tool.annotations.title, f"{name} says nothing of itself")
        for property_name, schema in tool.input_schema["properties"].items():
            check(isinstance(schema.get("type", "any"), str), f"{name}.{property_name} has several types")
    return tools


async def reads(client, note):
    """Every tool that reads, over one note that is there."""
    known = await call(client, "memory_query", {"text": note["title"]})
    check((known["hit"], known["key"]) == ("STRONG", note["key"]), f"{known}")
    missed = await call(client, "memory_query", {"query": "zzz qqq xxx", "signals_only": True})
    check(missed["hit"] == "MISS", f"{missed}")
    found = await call(client, "memory_search", {"text": note["title"], "limit": 3})
    check(found["results"][0]["key"] == note["key"], f"{found}")
    check((await call(client, "memory_explore", {"text": note["title"], "depth": 1}))["results"], "nothing to explore")
    await call(client, "memory_classify", {"text": note["title"]})
    shown = await call(client, "memory_get", {"node": note["key"]})
    check(shown["title"] == note["title"] and shown["body"] == note["body"], f"{shown}")
    check((await call(client, "memory_stats", {}))["nodes"] >= 1, "no notes are counted")
    searched = await call(client, "memory_search", {"pipeline": ["all", "limit:2"]})
    check(1 <= len(searched["results"]) <= 2, f"{searched}")
    check((await call(client, "memory_history", {"node": note["key"]}))["changes"], "no history")
    uri = f"memory://nodes/{note['key']}"
    templates = (await client.list_resource_templates()).resource_templates
    check([template.uri_template for template in templates] == ["memory://nodes/{node}{?tenant*}"], f"{templates}")
    resources = (await client.list_resources()).resources
    check(uri in [resource.uri for resource in resources], f"{uri} is not listed")
    contents = (await client.read_resource(uri)).contents
    check(contents[0].mime_type == "text/markdown" and note["body"] in contents[0].text, f"{contents}")


async def prompted(client, may_write):
    prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
    names = {"recall", "handover"} | ({"remember"} if may_write else set())
    check(prompts.keys() == names, f"{sorted(prompts)}")
    for name, prompt in prompts.items():
        given = {argument.name: "kettles" for argument in prompt.arguments}
        text = (await client.get_prompt(name, given)).messages[0].content.text
        check("kettles" in text and "memory_" in text, f"{name}: {text}")


async def misuses(client, era):
    await wrong(client, "memory_search", {"text": "x", "limit": "many"}, "limit", "integer")
    await wrong(client, "memory_search", {"text": "x", "limit": 51}, "limit", "integer")
    await wrong(client, "memory_search", {"text": 5}, "text", "string")
    await wrong(client, "memory_search", {"text": " "}, "text", "string")
    await wrong(client, "memory_search", {}, "text", "string")
    await wrong(client, "memory_search", {"text": "x", "colour": "blue"}, "colour", "object")
    await wrong(client, "memory_get", {"node": ["x"]}, "node", "string")
    await wrong(client, "memory_explore", {"text": "x", "depth": "many"}, "depth", "integer")
    await wrong(client, "memory_explore", {"text": "x", "colour": "blue"}, "colour", "object")
    answer = await client.call_tool("memory_search", {"pipeline": ["tpye:episodic"]})
    told = json.loads(answer.content[0].text)["error"]
    check(answer.is_error and "did you mean `type`" in told["hint"], f"{told}")
    answer = await client.call_tool("memory_get", {"node": "nobody-has-this-key"})
    error = json.loads(answer.content[0].text)["error"]
    check(error["code"] == "not_found" and "poc-memory" not in error["hint"], f"{error}")
    for tool in ["memory_forget_all", "memory_delete", "", "agent undo"]:
        await refused(client.session.call_tool(tool, {}), -32602, f"the tool `{tool}`")
    missing = -32602 if era >= "2026-07-28" else -32002
    for uri in ["memory://nodes/nobody-has-this-key", "memory://nodes/", "memory://nodes/%ff", "file:///etc/passwd"]:
        error = await refused(client.read_resource(uri), missing, uri)
        check(error.data["uri"] == uri, f"{uri}: {error}")
    await refused(client.get_prompt("recall", {}), -32602, "a prompt without its argument")
    await refused(client.get_prompt("nothing", {}), -32602, "an unknown prompt")


async def writes(client, era):
    key = f"py-{era}-{uuid.uuid4().hex[:8]}"
    note = {"title": f"The log of {key} is written first", "body": f"What {key} says.", "key": key}
    first = await call(client, "memory_remember", note | {"keywords": ["storage", "log"]})
    check(not first["duplicate"] and first["key"] == key, f"{first}")
    check((await call(client, "memory_remember", note | {"keywords": ["storage", "log"]}))["duplicate"], "stored twice")
    shown = await call(client, "memory_get", {"node": key})
    check((shown["provenance"], shown["trust"]) == ("mcp", "agent"), f"{shown}")
    other = await call(client, "memory_remember", {"title": f"Another note beside {key}"})
    tie = {"from": key, "to": other["key"], "strength": 0.5, "reason": "both are tested"}
    check((await call(client, "memory_link", tie))["status"] == "added", "no tie")
    await wrong(client, "memory_link", tie | {"strength": "strong"}, "strength", "number")
    await wrong(client, "memory_remember", {"title": "x", "keywords": 5}, "keywords", "array")
    await wrong(client, "memory_link", tie | {"kind": "blue"}, "kind", "string")
    # What models send beside the schema, where its meaning is plain.
    loose = {"title": f"Loose words of {key}", "keywords": "storage", "body": "", "update": "false", "source": None}
    check(not (await call(client, "memory_remember", loose))["duplicate"], "not stored")
    rated = await call(client, "memory_feedback", {"node": key, "helped": "true"})
    check(rated["accesses"] == 1, f"{rated}")
    return note


async def big(client, era):
    """Much goes in and out (the SDK takes a megabyte at a time, and an answer says all twice); more than a note
    may have is refused, and nothing breaks."""
    body = (f"A paragraph of {era} that is repeated. " * 5_000).strip()
    stored = await call(client, "memory_remember", {"title": f"Big in {era} {uuid.uuid4()}", "body": body})
    check((await call(client, "memory_get", {"node": stored["key"]}))["body"] == body, "the body came back otherwise")
    answer = await client.call_tool("memory_remember", {"title": "Too big", "body": "x" * 2_000_000})
    check(answer.is_error and "invalid_argument" in answer.content[0].text, f"{answer.content[0].text[:200]}")


async def at_once(client):
    answers = await asyncio.gather(*(call(client, "memory_search", {"text": f"note {n}"}) for n in range(32)))
    check(len(answers) == 32, "answers are missing")


async def cancelled(client):
    """A cancelled call is not answered, and the connection continues."""
    for _ in range(4):
        asked = asyncio.create_task(client.call_tool("memory_search", {"pipeline": ["all", "spectral"]}))
        await asyncio.sleep(0)
        asked.cancel()
        try:
            await asked
        except asyncio.CancelledError:
            pass
        check(asked.cancelled(), "it was not cancelled")
    check((await call(client, "memory_stats", {}))["nodes"] >= 1, "the connection is gone")


async def session(connect, mode, era, may_write, note=None):
    async with connect(mode) as client:
        check(client.protocol_version == era, f"{mode}: {client.protocol_version}")
        # Who names a version at once is not told who answers.
        if mode != era:
            check(client.server_info.name == "poc-memory", f"{client.server_info}")
            check("memory_search" in client.instructions, "no instructions")
            check(("memory_remember" in client.instructions) == may_write, "instructions name what is not offered")
        await listed(client, may_write)
        if may_write:
            note = await writes(client, era)
        else:
            await refused(client.session.call_tool("memory_remember", {"title": "x"}), -32602, "a reader's insert")
        before = (await call(client, "memory_get", {"node": note["key"]}))["accesses"]
        await reads(client, note)
        after = (await call(client, "memory_get", {"node": note["key"]}))["accesses"]
        check(after == before + (1 if may_write else 0), f"used {before} times, then {after}")
        await prompted(client, may_write)
        await misuses(client, era)
        if may_write:
            await big(client, era)
        await at_once(client)
        await cancelled(client)
    return note


def over_stdio(program):
    server = StdioServerParameters(command=program, args=["mcp"], env=dict(os.environ))
    return lambda mode: Client(server, mode=mode)


def over_http(url, file):
    with open(file) as token:
        headers = {"Authorization": f"Bearer {token.read().strip()}"}

    def connect(mode):
        http = httpx2.AsyncClient(headers=headers, timeout=60)
        return Client(streamable_http_client(url, http_client=http), mode=mode)

    return connect


async def main(how, where, *files):
    for mode, era in ERAS:
        if how == "stdio":
            await session(over_stdio(where), mode, era, True)
        else:
            note = await session(over_http(where, files[0]), mode, era, True)
            await session(over_http(where, files[1]), mode, era, False, note)
    print(f"Python SDK over {how}: {checks} checks, none failed")


asyncio.run(main(*sys.argv[1:]))
