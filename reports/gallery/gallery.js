"use strict";
(() => {
  const form = document.getElementById("filter");
  const articles = [...document.querySelectorAll("article[data-words]")];
  const rows = new Map([...document.querySelectorAll("tr[data-of]")].map((row) => [row.dataset.of, row]));
  const groups = [...document.querySelectorAll("section.group")];
  const fits = (article, chosen) =>
    chosen.search.every((word) => article.dataset.words.includes(word)) &&
    ["group", "kind", "verdict"].every((name) => !chosen[name] || article.dataset[name] === chosen[name]);
  const apply = () => {
    const chosen = Object.fromEntries(new FormData(form));
    chosen.search = chosen.search.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const article of articles) {
      const fit = fits(article, chosen);
      article.hidden = !fit;
      rows.get(article.id).hidden = !fit;
      shown += fit;
    }
    for (const group of groups) group.hidden = !group.querySelector("article:not([hidden])");
    form.querySelector("output").value = shown === articles.length ? "" : `${shown} of ${articles.length}`;
  };
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.closest("[hidden]")) {
      form.reset();
      apply();
    }
    const folded = target.closest("article")?.querySelector("details");
    if (folded) folded.open = true;
    target.scrollIntoView();
  };
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", reveal);
  apply();
  reveal();
})();
