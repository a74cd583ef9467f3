// Light or dark as the Airflow around this page is; alone, the page follows the system.
(() => {
  try {
    const airflow = window.parent.document.documentElement;
    if (window.parent === window) return;
    const follow = () => {
      document.documentElement.dataset.theme = airflow.classList.contains("dark") ? "dark" : "light";
    };
    follow();
    new MutationObserver(follow).observe(airflow, { attributes: true, attributeFilter: ["class"] });
  } catch {
    // Framed by another site: the system decides.
  }
})();
