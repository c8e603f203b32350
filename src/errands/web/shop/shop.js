// Lets an option's radio and label lead where its link leads: a click by a program hits what it aims at.
document.documentElement.classList.add("scripted");
document.addEventListener("change", ({ target }) => {
  const link = target.type === "radio" && target.closest(".pill")?.querySelector("a");
  if (link) location.assign(link.href);
});
// A page that comes back out of the browser's memory shows what its address says.
addEventListener("pageshow", () => {
  for (const radio of document.querySelectorAll(".pill input")) radio.checked = radio.defaultChecked;
});
