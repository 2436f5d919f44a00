// Checks pages on disk with axe-core, light and dark, wide and narrow: node axe.cjs AXE_FOLDER FILE...
// With PICTURES set to a folder, a picture of each lands there.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { Chromium, LOOKS, LOOK_RULES } = require("./chromium.cjs");

async function main() {
  const [folder, ...files] = process.argv.slice(2);
  const axe = fs.readFileSync(path.join(folder, "node_modules/axe-core/axe.min.js"), "utf8");
  const browser = new Chromium();
  let found = 0;
  try {
    const page = await browser.page();
    for (const file of files) {
      await page.goto(`file://${path.resolve(file)}`);
      for (const [name, look] of Object.entries(LOOKS)) {
        await page.look(look);
        if (process.env.PICTURES) await page.picture(path.join(process.env.PICTURES, `${path.basename(file, ".html")}-${name}.png`));
        for (const line of await page.axe(axe, LOOK_RULES[name])) {
          found += 1;
          console.log(`${file} (${name}): ${line}`);
        }
        const { cssContentSize, cssLayoutViewport } = await page.send("Page.getLayoutMetrics");
        if (cssContentSize.width > cssLayoutViewport.clientWidth) {
          found += 1;
          console.log(`${file} (${name}): ${cssContentSize.width} pixels wide, more than ${cssLayoutViewport.clientWidth}`);
        }
      }
    }
    for (const complaint of page.complaints) console.log(complaint);
    found += page.complaints.length;
  } finally {
    await browser.close();
  }
  console.log(`${files.length} pages, ${found} findings`);
  process.exitCode = found ? 1 : 0;
}

main();
