// Applies the chosen theme before the first paint. Without a choice, the theme is that of the system.
(() => {
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be switched off.
  }
})();
