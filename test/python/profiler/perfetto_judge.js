// perfetto_judge.js: Perfetto's trace processor under Node.
//
//   node perfetto_judge.js FOLDER < REQUESTS > ANSWERS
//
// FOLDER has engine_bundle.js and the WebAssembly that it asks for. The bundle is made for a worker of a
// browser and refuses Node, so it runs in a context that has what a worker has and no `process`.
// Requests and answers are bytes of the trace processor's protocol; perfetto_judge.py knows it.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const read = (name) => fs.readFileSync(path.join(process.argv[2], path.basename(name)));

class XMLHttpRequest {
  open(method, name) {
    this.name = name;
  }
  send() {
    this.response = read(this.name);
  }
}

function write(bytes) {
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(1, bytes, done);
}

const quiet = { log() {}, warn() {}, error() {}, debug() {}, info() {} };
const world = vm.createContext({
  XMLHttpRequest, URL, TextDecoder, TextEncoder, performance, setTimeout, clearTimeout, write,
  console: quiet,
  WorkerGlobalScope: class {},
  location: { href: "http://localhost/engine_bundle.js" },
  requests: fs.readFileSync(0),
});
world.self = world;

// The line on which an error was thrown is the whole bundle, so Node is not left to print it.
process.on("uncaughtException", (error) => {
  fs.writeSync(2, String(error && error.message).slice(0, 2000) + "\n");
  process.exit(1);
});

vm.runInContext(read("engine_bundle.js").toString(), world, "engine_bundle.js");
// It is ready after promises that are resolved already, and those go before timers. The protocol
// is checked to come as a Uint8Array of the context's own.
vm.runInContext(
  `const port = { postMessage: write };
   self.onmessage({ data: port });
   setTimeout(() => port.onmessage({ data: new Uint8Array(requests) }), 0);`,
  world
);
