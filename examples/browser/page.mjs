// A form whose fields come from model.json, and predictions of model.onnx by onnxruntime-web.
//
// To load the runtime from a network in place of node_modules, write its address here, such as
// https://cdn.jsdelivr.net/npm/onnxruntime-web@1.30.0/dist/ort.wasm.bundle.min.mjs, and add
// https://cdn.jsdelivr.net to script-src and connect-src of the policy in index.html.
const RUNTIME = "./node_modules/onnxruntime-web/dist/ort.wasm.bundle.min.mjs";

const SVG = "http://www.w3.org/2000/svg";
const at = (id) => document.getElementById(id);
const format = (options) => (value) => new Intl.NumberFormat("en", options).format(value).replace("-", "\u2212");
const shown = format({ maximumSignificantDigits: 4, signDisplay: "negative" });

// An element with properties and children.
function made(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// The field of a column: a list of categories, or a number with a slider beside it.
function field(column, position) {
  const id = `column-${position}`;
  const unit = made("span", { className: "unit" }, column.unit);
  const label = made("label", { htmlFor: id }, column.label, " ", unit);
  if (column.values) {
    const empty = made("option", { value: "" }, "unknown");
    const options = column.values.map((value) => made("option", { value }, value));
    const select = made("select", { id }, empty, ...options);
    options[column.values.indexOf(column.typical)].defaultSelected = true;
    return { row: made("div", { className: "field" }, label, select), input: select };
  }
  const { low, high, step } = column;
  const input = made("input", { type: "number", id, step: "any", inputMode: "decimal" });
  const slider = made("input", { type: "range", min: low, max: high, step, tabIndex: -1 });
  input.defaultValue = slider.defaultValue = column.typical;
  // The slider is for the mouse; the field beside it has the same value, its keys and its label.
  slider.setAttribute("aria-hidden", "true");
  const range = made("span", { className: "hint", id: `${id}-range` }, `${shown(low)} to ${shown(high)}`);
  input.setAttribute("aria-describedby", range.id);
  slider.addEventListener("input", () => (input.value = slider.value));
  input.addEventListener("input", () => {
    if (input.value !== "") slider.value = input.value;
  });
  const both = made("div", { className: "number" }, input, made("div", {}, slider, range));
  return { row: made("div", { className: "field" }, label, both), input };
}

// The inputs of the graph: text is a category, and a number that is missing is not a number.
function feeds({ Tensor }, session, inputs) {
  const found = {};
  for (const { name, type } of session.inputMetadata) {
    const { value } = inputs.get(name);
    const cells = type === "string" ? [value] : [value === "" ? NaN : Number(value)];
    found[name] = new Tensor(type, cells, [1, 1]);
  }
  return found;
}

// Columns whose number lies outside of the range of the fitted rows.
function outside(columns, inputs) {
  return columns.filter(({ name, low, high, values }) => {
    const { value } = inputs.get(name);
    return !values && value !== "" && !(Number(value) >= low && Number(value) <= high);
  });
}

// A picture of the responses: a function that moves the prediction and its interval.
function picture({ counts, edges }) {
  const [floor, foot] = [78, 84];
  const [low, high] = [edges[0], edges.at(-1)];
  const place = (value) => 400 * Math.min(Math.max((value - low) / (high - low), 0), 1);
  const drawn = (properties) => {
    const element = document.createElementNS(SVG, "rect");
    for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
    at("picture").append(element);
    return element;
  };
  const most = Math.max(...counts);
  counts.forEach((count, bin) => {
    const [x, end] = [place(edges[bin]), place(edges[bin + 1])];
    const height = (floor * count) / most;
    drawn({ class: "bar", x: x + 1, y: floor - height, width: end - x - 2, height });
  });
  drawn({ class: "axis", x: 0, y: floor, width: 400, height: 1 });
  const band = drawn({ class: "band", y: foot, height: 16 });
  const mark = drawn({ class: "mark", y: foot, height: 16, width: 4 });
  at("least").textContent = shown(low);
  at("most").textContent = shown(high);
  return (prediction, lower, upper) => {
    band.setAttribute("x", place(lower));
    band.setAttribute("width", Math.max(place(upper) - place(lower), 1));
    mark.setAttribute("x", Math.min(Math.max(place(prediction) - 2, 0), 396));
  };
}

// Values with as many decimals as their uncertainty leaves, and in full for programs.
function show(values, half) {
  const decimals = Math.min(Math.max(1 - Math.floor(Math.log10(half)), 0), 12);
  const rounded = format({ maximumFractionDigits: decimals, signDisplay: "negative" });
  for (const [id, value] of Object.entries(values)) {
    at(id).value = String(value);
    at(id).textContent = rounded(value);
  }
}

async function loaded() {
  const [ort, response] = await Promise.all([import(RUNTIME), fetch("model.json")]);
  if (!response.ok) throw new Error(`model.json: ${response.statusText}`);
  ort.env.wasm.numThreads = 1;
  return [ort, await response.json(), await ort.InferenceSession.create("model.onnx")];
}

const [ort, description, session] = await loaded().catch((error) => {
  at("about").textContent = `The model cannot be loaded: ${error.message}`;
  throw error;
});
const inputs = new Map();
description.columns.forEach((column, position) => {
  const { row, input } = field(column, position);
  inputs.set(column.name, input);
  at("fields").append(row);
});
for (const coverage of Object.keys(description.half_widths)) {
  const text = `${Math.round(100 * Number(coverage))} %`;
  at("coverage").append(made("option", { value: coverage, defaultSelected: coverage === "0.9" }, text));
}
const move = picture(description.responses);

async function predict() {
  const started = performance.now();
  const { variable } = await session.run(feeds(ort, session, inputs));
  const took = performance.now() - started;
  const prediction = variable.data[0];
  const half = description.half_widths[at("coverage").value];
  const [lower, upper] = [prediction - half, prediction + half];
  show({ prediction, lower, upper }, half);
  move(prediction, lower, upper);
  const far = outside(description.columns, inputs).map(({ label }) => label);
  at("notice").hidden = far.length === 0;
  at("notice").textContent = `Outside of the range of the fitted rows: ${far.join(", ")}.`;
  at("facts").textContent =
    `The model was fitted to ${description.rows} rows and compressed to ${description.centers} centers. ` +
    `It ran in this browser, in ${took < 1 ? "less than a millisecond" : `${Math.round(took)} milliseconds`}; ` +
    "no value leaves this page.";
}

// Values are predicted one after the other, and only the last one that was asked for.
let asked = false;
let running = Promise.resolve();
function changed() {
  if (asked) return running;
  asked = true;
  at("result").ariaBusy = "true";
  running = running.then(async () => {
    asked = false;
    await predict();
    at("result").ariaBusy = String(asked);
  });
  return running;
}

async function announce() {
  await changed();
  const [prediction, lower, upper] = ["prediction", "lower", "upper"].map((id) => at(id).textContent);
  const notice = at("notice").hidden ? "" : ` ${at("notice").textContent}`;
  at("status").textContent = `Predicted ${prediction}, between ${lower} and ${upper}.${notice}`;
}

document.title = at("title").textContent = description.title;
for (const name of ["about", "form", "warning"]) at(name).textContent = description[name];
at("row").addEventListener("input", changed);
at("row").addEventListener("change", announce);
at("typical").addEventListener("click", () => {
  at("row").reset();
  announce();
});
at("row").addEventListener("submit", (event) => event.preventDefault());
at("coverage").addEventListener("change", announce);
await changed();
at("content").hidden = false;
