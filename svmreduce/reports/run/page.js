"use strict";
// Tables that sort: without this the page reads the same, in the order it was written.
const value = (row, column) => {
  const cell = row.cells[column];
  return (cell.dataset.value ?? cell.textContent).trim();
};
const compare = (one, other, sign) => {
  if (!one || !other) return !one - !other; // empty cells last, either way
  const difference = Number(one) - Number(other);
  return sign * (Number.isNaN(difference) ? one.localeCompare(other, undefined, { numeric: true }) : difference);
};
for (const table of document.querySelectorAll("table.sorts")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort((a, b) => compare(value(a, column), value(b, column), sign)));
    });
  });
}
// What is folded away on the screen belongs on the paper.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
