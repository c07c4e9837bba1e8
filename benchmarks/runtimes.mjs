// Runs a graph in a package of onnxruntime for Node: predictions, and processor time of calls.
//
//   node benchmarks/runtimes.mjs FOLDER PACKAGE GRAPH INPUTS
//
// FOLDER is that of installed packages, and INPUTS a file of JSON: the cells and the type of each
// input by its name, where null is a missing number; the output to return; the numbers of calls with
// one row and with all rows in a round; and the number of rounds. It writes an object of JSON.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [folder, name, path, inputs] = process.argv.slice(2);
const require = createRequire(join(resolve(folder), "package.js"));
const ort = require(name);
const { version } = JSON.parse(readFileSync(join(resolve(folder), name, "package.json"), "utf8"));
const { columns, output, calls, rounds } = JSON.parse(readFileSync(inputs, "utf8"));

function tensors(most) {
  const found = {};
  for (const [column, { type, cells }] of Object.entries(columns)) {
    const rows = cells.slice(0, most);
    const shape = [rows.length, rows[0].length];
    const flat = rows.flat();
    const data = type === "string" ? flat : Float64Array.from(flat, (cell) => cell ?? NaN);
    found[column] = new ort.Tensor(type, data, shape);
  }
  return found;
}

async function milliseconds(session, feeds, number) {
  const times = [];
  for (let round = 0; round <= rounds; round += 1) {
    const start = process.cpuUsage();
    for (let call = 0; call < number; call += 1) await session.run(feeds, [output]);
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / 1e3 / number);
  }
  // The first round compiles.
  return times.slice(1).sort((a, b) => a - b)[Math.floor(rounds / 2)];
}

if (ort.env.wasm) ort.env.wasm.numThreads = 1;
const told = { version };
try {
  const session = await ort.InferenceSession.create(resolve(path), { intraOpNumThreads: 1 });
  const all = tensors(Infinity);
  const { data } = (await session.run(all, [output]))[output];
  told.found = Array.from(data, Number);
  told.row = await milliseconds(session, tensors(1), calls[0]);
  told.rows = await milliseconds(session, all, calls[1]);
} catch (error) {
  told.refused = String(error.message ?? error);
}
console.log(JSON.stringify(told));
