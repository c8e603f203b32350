// What pages written for Mechanical Turk's "external HIT" script call, in our own words.
// They find their assignment in the address of their frame.
function turkGetParam(name, otherwise) {
  "use strict";
  const found = new URLSearchParams(window.location.search).get(name);
  return found === null || found === "" ? otherwise || "" : found;
}

function turkSetAssignmentID(given) {
  "use strict";
  const id = given || turkGetParam("assignmentId", "");
  const form = document.getElementById("mturk_form");
  const target = turkGetParam("turkSubmitTo", "");
  if (form && target) {
    form.action = target + "/mturk/externalSubmit";
  }
  for (const field of document.querySelectorAll("#assignmentId, input[name=assignmentId]")) {
    field.value = id;
  }
  if (id === "ASSIGNMENT_ID_NOT_AVAILABLE") {
    const button = document.getElementById("submitButton");
    if (button) {
      button.disabled = true;
      button.value = "Accept the task before you submit";
    }
  }
}
