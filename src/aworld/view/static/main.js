// The beginning: who is there, which page, and the keys that work everywhere.
import { logIn } from "./api.js";
import { fill, h } from "./dom.js";
import { isExport } from "./exported.js";
import { closeHelp, keys, toggleHelp } from "./keyboard.js";
import { problem, show, start } from "./router.js";
import { runsPage } from "./runs.js";
import { runPage } from "./run.js";
import { taskPage } from "./task.js";
import { groupPage } from "./group.js";
import { trainingPage } from "./training.js";
import { comparePage } from "./compare.js";

const PAGES = {
  "/": isExport ? runPage : runsPage,
  "/run": runPage,
  "/task": taskPage,
  "/group": groupPage,
  "/training": trainingPage,
  "/compare": comparePage,
};

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function changeTheme() {
  const chosen = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = chosen;
  try {
    localStorage.setItem("aworld-theme", chosen);
  } catch (error) {
    // it lasts as long as this page
  }
  dispatchEvent(new Event("themechange"));
}

async function begin() {
  document.getElementById("theme").addEventListener("click", changeTheme);
  document.getElementById("help").addEventListener("click", toggleHelp);
  const changed = () => dispatchEvent(new Event("themechange"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  keys({ t: [changeTheme, "light or dark"], "?": [toggleHelp, "these keys"], Escape: [closeHelp, ""] });
  addEventListener("hashchange", async () => {
    if (isExport || !location.hash.startsWith("#key=")) return;
    await logIn(); // another link was opened in this tab
    show();
  });
  try {
    await logIn();
  } catch (error) {
    fill(document.getElementById("main"), problem(error));
    return;
  }
  start(PAGES);
}

if (document.getElementById("main")) begin();
else document.body.append(h("p", {}, "this page is incomplete"));
