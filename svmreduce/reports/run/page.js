"use strict";
// Tables that sort: without this the page reads the same, in the order it was written.
const value = (row, column) => {
  const cell = row.cells[column];
  return (cell.dataset.value ?? cell.textContent).replace(/[*†‡]+$/, "").replace(/^−/, "-").trim();
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
// Filters: by data set, by the name of a method, with or without the random controls.
const rows = [...document.querySelectorAll("table.sorts tbody tr")];
const panels = [...document.querySelectorAll("[data-dataset]")];
const text = (part, name) => part.querySelector(name)?.textContent ?? "";
const datasets = [...new Set(panels.filter((part) => part.matches(".panel")).map((part) => part.dataset.dataset))];
const methods = new Set([...document.querySelectorAll("#results tbody .who")].map((part) => part.textContent));
const add = (parent, name, properties, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  parent?.append(made);
  return made;
};
if (datasets.length > 1 || methods.size > 4) {
  const bar = add(null, "form", { className: "filters" });
  bar.setAttribute("aria-label", "Filters");
  const which = add(null, "select", { ariaLabel: "Data set" }, ...["All data sets", ...datasets].map((name, place) =>
    add(null, "option", { value: place ? name : "" }, name)));
  if (datasets.length > 1) bar.append(which);
  const who = add(bar, "input", { type: "search", placeholder: "Method …", ariaLabel: "Method" });
  const controls = add(null, "input", { type: "checkbox", checked: true });
  if (document.querySelector("tr.control")) add(bar, "label", {}, controls, " random controls");
  const filter = () => {
    const name = who.value.trim().toLowerCase();
    for (const part of panels) {
      part.classList.toggle("off", Boolean(which.value && datasets.includes(part.dataset.dataset) && part.dataset.dataset !== which.value));
    }
    for (const row of rows) {
      const dataset = text(row, ".ds");
      row.classList.toggle("off", Boolean((which.value && dataset && dataset !== which.value)
        || (name && !text(row, ".who").toLowerCase().includes(name)) || (!controls.checked && row.matches(".control"))));
    }
  };
  bar.addEventListener("input", filter);
  bar.addEventListener("submit", (event) => event.preventDefault());
  document.querySelector("#results")?.before(bar);
}
// A table that is wider than the screen says so.
const hint = () => document.querySelectorAll(".scroll").forEach((frame) => {
  const isWide = frame.scrollWidth > frame.clientWidth + 1;
  if (frame.previousElementSibling?.matches(".more")) frame.previousElementSibling.classList.toggle("off", !isWide);
  else if (isWide) frame.before(add(null, "p", { className: "more" }, "scroll sideways for more columns →"));
});
hint();
addEventListener("resize", hint);
document.querySelectorAll("details").forEach((part) => part.addEventListener("toggle", hint));
// What is folded away on the screen belongs on the paper.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
