// Puts a token on every request and hands it on as it is: the conformance suite has no way to send one.
// usage: with_token.mjs TARGET TOKEN-FILE; prints the port it listens on
import { createServer, request } from "node:http";
import { readFileSync } from "node:fs";

const [target, file] = process.argv.slice(2);
const { hostname, port: behind } = new URL(target);
const authorization = `Bearer ${readFileSync(file, "utf8").trim()}`;

createServer((asked, answer) => {
  const headers = { ...asked.headers, authorization };
  const onward = request({ hostname, port: behind, path: asked.url, method: asked.method, headers }, (answered) => {
    answer.writeHead(answered.statusCode, answered.headers);
    answered.pipe(answer);
  });
  onward.on("error", () => answer.destroy());
  answer.on("close", () => onward.destroy());
  asked.pipe(onward);
}).listen(0, "127.0.0.1", function () {
  console.log(this.address().port);
});
