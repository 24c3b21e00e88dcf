// Model servers on loopback for Claude Code (Anthropic's Messages API) and Codex (OpenAI's Responses API).
//
// The first request of a prompt that asks "which port" is answered with a decision and the call of a tool; the request
// with the tool's result is never answered, so that the assistant can be killed in the middle of its turn. Every other
// prompt is answered with "Noted." Each request is appended to the file LOG as one line of JSON, and a request that
// hangs as {"hangs": true}.
//
// Usage: node mock_models.mjs LOG   (prints the port)

import { appendFileSync } from "node:fs";
import { createServer } from "node:http";

const [log] = process.argv.slice(2);
const DECISION = "We decided that the gateway listens on port 7443, because 443 is taken.";

// What is added to the second session contains the prompt of the first.
const asksForPort = (text) => /which port/i.test(text) && !/what did we decide/i.test(text);

const record = (entry) => appendFileSync(log, JSON.stringify(entry) + "\n");

const sse = (response, events) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
};

const anthropic = (body, response) => {
  const last = JSON.stringify(body.messages?.at(-1) ?? "");
  const whole = JSON.stringify(body.messages ?? "");
  const asks = asksForPort(whole) && body.tools?.length;
  if (asks && last.includes('"tool_result"')) return record({ hangs: true });
  const blocks = [{ type: "text", text: asks ? DECISION : "Noted." }];
  if (asks) blocks.push({ type: "tool_use", id: "toolu_1", name: "Read", input: { file_path: "/etc/hostname" } });
  const usage = { input_tokens: 100, output_tokens: 10 };
  const message = { id: "msg_1", type: "message", role: "assistant", model: body.model, content: [], usage };
  if (!body.stream) {
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify({ ...message, content: blocks.slice(0, 1), stop_reason: "end_turn" }));
  }
  const events = [{ type: "message_start", message: { ...message, stop_reason: null } }];
  blocks.forEach((block, index) => {
    const empty = block.type === "text" ? { type: "text", text: "" } : { ...block, input: {} };
    const delta =
      block.type === "text"
        ? { type: "text_delta", text: block.text }
        : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
    events.push({ type: "content_block_start", index, content_block: empty });
    events.push({ type: "content_block_delta", index, delta });
    events.push({ type: "content_block_stop", index });
  });
  events.push({ type: "message_delta", delta: { stop_reason: asks ? "tool_use" : "end_turn" }, usage });
  events.push({ type: "message_stop" });
  sse(response, events);
};

const openai = (body, response) => {
  const input = JSON.stringify(body.input ?? "");
  const asks = asksForPort(input);
  if (asks && input.includes('"function_call_output"')) return record({ hangs: true });
  const output = [
    { type: "message", role: "assistant", id: "m1", content: [{ type: "output_text", text: asks ? DECISION : "Noted." }] },
  ];
  if (asks) output.push({ type: "function_call", id: "f1", call_id: "call_1", name: "no_such_tool", arguments: "{}" });
  const usage = { input_tokens: 100, output_tokens: 10, total_tokens: 110 };
  const done = { id: "resp_1", object: "response", status: "completed", output, usage };
  sse(response, [
    { type: "response.created", response: { id: "resp_1" } },
    ...output.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
    { type: "response.completed", response: done },
  ]);
};

const server = createServer((request, response) => {
  let text = "";
  request.on("data", (data) => (text += data));
  request.on("end", () => {
    let body = {};
    try {
      body = JSON.parse(text);
    } catch {
      // Not every request has a body.
    }
    const path = new URL(request.url, "http://x").pathname;
    record({ path, body });
    if (path.endsWith("/count_tokens")) return response.end(JSON.stringify({ input_tokens: 10 }));
    if (path.endsWith("/messages")) return anthropic(body, response);
    if (path.endsWith("/responses")) return openai(body, response);
    response.writeHead(path.endsWith("/models") ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify({ data: [], models: [] }));
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
