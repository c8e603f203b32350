"use strict";
/* Filters and orders the rows of a table; without it all rows are there, best first. */
(function () {
  var form = document.getElementById("filters");
  if (!form) return;
  form.hidden = false;
  var rows = Array.prototype.slice.call(document.querySelectorAll("tr[data-kind]"));
  var told = document.getElementById("told");

  function wanted(row, values) {
    var data = row.dataset;
    return (!values.kind || data.kind === values.kind) &&
      (values.answers || data.answers !== "yes") &&
      (!values.since || data.date >= values.since) &&
      values.words.every(function (word) { return data.words.indexOf(word) >= 0; });
  }

  function apply() {
    var values = {
      kind: form.elements.kind.value,
      answers: form.elements.answers.checked,
      since: form.elements.since.value,
      words: form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean)
    };
    var shown = 0;
    rows.forEach(function (row) {
      row.hidden = !wanted(row, values);
      if (!row.hidden) shown += 1;
    });
    told.textContent = shown === rows.length ? "" : shown + " of " + rows.length + " rows are shown.";
  }

  form.addEventListener("input", apply);
  form.addEventListener("reset", function () { setTimeout(apply, 0); });
  form.addEventListener("submit", function (event) { event.preventDefault(); });

  document.querySelectorAll("th[data-sort]").forEach(function (head) {
    var button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.textContent = head.textContent;
    head.textContent = "";
    head.appendChild(button);
    button.addEventListener("click", function () {
      var body = head.closest("table").tBodies[0];
      var place = head.cellIndex;
      var down = head.getAttribute("aria-sort") !== "descending";
      head.parentNode.querySelectorAll("th").forEach(function (other) {
        other.removeAttribute("aria-sort");
      });
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      Array.prototype.slice.call(body.rows).sort(function (one, other) {
        var a = one.cells[place].dataset.value || "", b = other.cells[place].dataset.value || "";
        var order = head.dataset.sort === "text" ? a.localeCompare(b) : (parseFloat(a) || 0) - (parseFloat(b) || 0);
        return down ? -order : order;
      }).forEach(function (row) { body.appendChild(row); });
    });
  });
  apply();
})();
