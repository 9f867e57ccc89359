// Takes long to start: it asks another program for the version, and waits for it.
const { execFileSync } = require("child_process");

function versionOfTool() {
  return execFileSync("sleep", ["0.4"]).toString();
}

versionOfTool();
console.log("hello");
