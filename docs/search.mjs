// Searches built pages as a browser does: prints what comes first for each word of search_words.json
// and for each name of a page, or for the words that are given.
//
//   node docs/search.mjs docs/_build/html [word ...]
//
// It ends with 1 if a word of the list does not lead to its page.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import vm from "node:vm";

const [root, ...given] = process.argv.slice(2);
const listed = JSON.parse(readFileSync(join(dirname(fileURLToPath(import.meta.url)), "search_words.json")));
const page = vm.createContext({
  window: {},
  document: { getElementById: () => null },
  _: (text) => text,
  _ready: () => {},
  SPHINX_HIGHLIGHT_ENABLED: false,
});
const load = (name) => vm.runInContext(readFileSync(join(root, name), "utf8"), page);
// The scripts of search.html, in its order.
load("_static/searchtools.js");
load("_static/language_data.js");
vm.runInContext("var Stemmer = window.Stemmer; var search = Search", page);
load("searchindex.js");

let misses = 0;
for (const word of given.length ? given : [...Object.keys(listed), "which estimator", "glossary"]) {
  // Results are shown from the last to the first.
  const found = page.search._performSearch(...page.search._parseQuery(word)).reverse();
  const places = found.map(([name, , anchor]) => name + anchor);
  const wanted = listed[word];
  const missed = wanted && places[0] !== wanted;
  misses += Boolean(missed);
  const shown = given.length ? places.slice(0, 5).join("\n    ") : places[0] ?? "nothing";
  console.log(`${word}: ${shown}${missed ? `, not ${wanted}` : ""}`);
}
process.exit(misses ? 1 : 0);
