// Uses the page of examples/browser as people do, and writes what it shows as JSON.
//
//   node tests/deployment/browser_page.mjs FOLDER CHROMIUM ADDRESS ROWS [SCREENSHOT]
//
// FOLDER is that of installed packages, and ROWS a file of JSON: the texts of all fields, and the
// coverage, for each row. SCREENSHOT is a file, to which pictures are written.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [folder, chromium, address, rows, screenshot] = process.argv.slice(2);
const require = createRequire(join(resolve(folder), "package.js"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox"] });
const page = await browser.newPage();
const told = { errors: [], requests: [], rows: [], audits: [] };
page.on("pageerror", (error) => told.errors.push(String(error)));
page.on("console", (message) => message.type() === "error" && told.errors.push(message.text()));
page.on("request", (request) => told.requests.push(request.url()));
await page.goto(address);
await page.waitForSelector("#row", { visible: true, timeout: 60_000 });

// The ids of all controls that the tabulator key reaches, in order.
told.reached = [];
await page.focus("body");
for (;;) {
  await page.keyboard.press("Tab");
  const id = await page.evaluate(() => document.activeElement.id || document.activeElement.type);
  if (!id || told.reached.includes(id)) break;
  told.reached.push(id);
}

// What the page shows once all changes are predicted.
async function shown() {
  await page.waitForSelector("#result[aria-busy=false]");
  return page.evaluate(() => {
    const at = (id) => document.getElementById(id);
    const [prediction, lower, upper] = ["prediction", "lower", "upper"].map((id) => Number(at(id).value));
    return { prediction, lower, upper, notice: at("notice").hidden ? "" : at("notice").textContent };
  });
}

told.typical = await shown();
for (const { cells, coverage } of JSON.parse(readFileSync(rows, "utf8"))) {
  for (const [position, text] of cells.entries()) {
    const selector = `#column-${position}`;
    if (await page.$eval(selector, (field) => field.tagName === "SELECT")) {
      await page.select(selector, text);
    } else {
      await page.click(selector, { count: 3 });
      await page.keyboard.press("Backspace");
      await page.keyboard.type(text);
    }
  }
  await page.select("#coverage", coverage);
  told.rows.push(await shown());
}
await page.click("#typical");
told.reset = await shown();
told.said = await page.$eval("#status", (status) => status.textContent);

for (const mode of ["light", "dark"]) {
  for (const width of [1200, 700, 320]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: mode }]);
    await page.setViewport({ width, height: 900 });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
    const rules = violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`));
    const sideways = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    told.audits.push({ mode, width, rules, sideways });
    if (screenshot) {
      await page.screenshot({ path: screenshot.replace(".png", `_${mode}_${width}.png`) });
    }
  }
}
await browser.close();
console.log(JSON.stringify(told));
