// The page of a stand-in in a headless Chromium: axe-core, and what its buttons and forms do.
//
// Environment: PAGE (its address), AXE (the folder that axe-core is installed in); SHOTS to have pictures land there.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { Chromium, LOOKS, LOOK_RULES } = require("./chromium.cjs");

const { PAGE, AXE, SHOTS } = process.env;
const axe = fs.readFileSync(path.join(AXE, "node_modules/axe-core/axe.min.js"), "utf8");

async function main() {
  const browser = new Chromium();
  try {
    const page = await browser.page();
    await page.goto(PAGE);
    for (const [name, look] of Object.entries(LOOKS)) {
      await page.look(look);
      if (SHOTS) await page.picture(path.join(SHOTS, name === "light" ? "stand-in.png" : `stand-in-${name}.png`), 2400);
      // The policy of the page lets no other script in but that of the test itself.
      assert.deepEqual(await page.axe(axe, LOOK_RULES[name], 1), [], name);
      const { cssContentSize, cssLayoutViewport } = await page.send("Page.getLayoutMetrics");
      assert.ok(cssContentSize.width <= cssLayoutViewport.clientWidth, `${name} is ${cssContentSize.width} wide`);
    }
    // Words of people, not names of code.
    assert.doesNotMatch(await page.text(), /\b[A-Z][a-z]+[A-Z][a-z]/);
    await page.look({});
    const before = Date.parse(await page.text(".big"));
    await page.go(`button[data-body='{"advance":"1h"}']`);
    assert.equal(Date.parse(await page.text(".big")) - before, 3600_000);
    await page.type("#advance", "25h");
    await page.go('form[data-target="clock"] button');
    assert.equal(Date.parse(await page.text(".big")) - before, 26 * 3600_000);
    // What is wrong is said, and the page stays.
    await page.type("#advance", "soon");
    await page.press('form[data-target="clock"] button');
    await page.until("the reason", async () => /advance/.test(await page.text("#message")));
    await page.go('form[data-target="faults"] button');
    assert.match(await page.text(), /internal/);
    for (const fault of [1, 2]) await page.go(`button[data-path="faults/${fault}"]`);
    assert.match(await page.text(), /No request meets a fault/);
    await page.go('button[data-path="reset"]');
    assert.equal(Date.parse(await page.text(".big")), before);
    assert.deepEqual(page.complaints, []);
  } finally {
    await browser.close();
  }
  console.log("6 steps passed");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
