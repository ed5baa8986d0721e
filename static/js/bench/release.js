/** A release's page: the dialog that retires an item says which one. */

const dialog = document.querySelector("#retire");

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-retire]");
  if (!button || !dialog) return;
  dialog.querySelector("[name=item]").value = button.dataset.retire;
  dialog.querySelector(".retire-words").textContent = button.dataset.words;
  dialog.querySelector("[name=reason]").value = "";
  dialog.showModal();
  dialog.querySelector("[name=reason]").focus();
});
