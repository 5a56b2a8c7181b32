// Before the first paint, so that nothing flashes: light or dark, as it was chosen last.
(function () {
  let chosen = null;
  try {
    chosen = localStorage.getItem("aworld-theme");
  } catch (error) {
    // no storage here: it is as the system has it
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
