// Filters rows by model name and by kind; sorting is sortable.min.js.
const search = document.querySelector("#search");
const published = document.querySelector("#published");
const count = document.querySelector("#count");

function filterRows() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = new Set();
  for (const item of document.querySelectorAll("[data-model]")) {
    const name = item.dataset.model.toLowerCase();
    const isPublished = item.classList.contains("published");
    item.hidden = !words.every((word) => name.includes(word)) ||
      (isPublished && published && !published.checked);
    if (!item.hidden) shown.add(item.dataset.model);
  }
  count.textContent = `${shown.size} models shown`;
}

search.addEventListener("input", filterRows);
published?.addEventListener("change", filterRows);
filterRows();
