// Audits built pages: rules of axe-core in light and dark at two widths, pages that scroll sideways,
// and code that is wider than its box on a wide screen.
//
//   npm install --no-save axe-core puppeteer-core
//   CHROMIUM=/usr/bin/chromium node docs/audit.mjs docs/_build/html [guide/tables.html ...]
//
// Without names of pages it takes all but those of the reference and of modules. It ends with 1 if
// it has found something.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

// Packages are looked up from the current folder.
const require = createRequire(join(process.cwd(), "audit.js"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const root = resolve(process.argv[2]);
const pages = process.argv.length > 3
  ? process.argv.slice(3)
  : readdirSync(root, { recursive: true }).filter(
      (name) => name.endsWith(".html") && !/^(_|lite|reference|search|genindex|py-modindex)/.test(name),
    );

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--allow-file-access-from-files"],
});
const found = new Map();
for (const name of pages) {
  for (const width of [1400, 400]) {
    for (const mode of ["light", "dark"]) {
      const page = await browser.newPage();
      await page.setViewport({ width, height: 1000 });
      await page.evaluateOnNewDocument((mode) => {
        localStorage.setItem("mode", mode);
        localStorage.setItem("theme", mode);
      }, mode);
      await page.goto(`file://${root}/${name}`, { waitUntil: "load" });
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
      const wide = await page.evaluate(() => [
        ...(document.documentElement.scrollWidth > innerWidth ? ["the page scrolls sideways"] : []),
        ...[...document.querySelectorAll(".bd-article pre")]
          .filter((pre) => innerWidth > 1000 && pre.scrollWidth > pre.clientWidth)
          .map((pre) => `code is wider than its box: ${pre.innerText.slice(0, 50)}`),
      ]);
      const rules = violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, any, all, none }) =>
          `${id}: ${target.join(" ").slice(0, 120)}: ${[...any, ...all, ...none][0]?.message ?? ""}`),
      );
      for (const line of [...rules, ...wide]) {
        const where = found.get(line) ?? found.set(line, new Set()).get(line);
        where.add(`${name} ${width} ${mode}`);
      }
      await page.close();
    }
  }
}
await browser.close();
for (const [line, where] of found) {
  console.log(`${line.replace(/\s+/g, " ")}\n    ${where.size} times, such as ${[...where][0]}`);
}
console.log(`${pages.length} pages, ${found.size} findings`);
process.exit(found.size ? 1 : 0);
