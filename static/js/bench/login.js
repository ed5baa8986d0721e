/** Logging in again in place: what waits on this computer is not lost, and belongs to the person who made it. */

export class LoginAgain {
  /** `user`: {id, username, name} whose page this is; `onlogin` is called when that person is back. */
  constructor({ api, user, onlogin }) {
    Object.assign(this, { api, user, onlogin });
    this.dialog = document.querySelector("#login-again");
    this.dialog.querySelector("form").addEventListener("submit", (event) => this.#send(event));
  }

  open(why) {
    if (this.dialog.open) return;
    for (const open of document.querySelectorAll("dialog[open]")) open.close();
    const form = this.dialog.querySelector("form");
    form.elements.username.value = this.user.username;
    form.elements.password.value = "";
    this.dialog.querySelector("#login-why").textContent = why;
    this.dialog.querySelector(".field-error").textContent = "";
    this.dialog.showModal();
    form.elements.password.focus();
  }

  async #send(event) {
    event.preventDefault();
    const { username, password } = event.target.elements;
    const problem = this.dialog.querySelector(".field-error");
    const button = event.target.querySelector("button.button-primary");
    button.disabled = true;
    try {
      const found = await this.api.login(username.value, password.value);
      if (String(found.id) !== String(this.user.id)) {
        const { name } = this.user;
        problem.textContent = `This is another person's account. The page belongs to ${name}, who has to log in.`;
        return;
      }
      this.dialog.close();
      this.onlogin();
    } catch (error) {
      problem.textContent = error.message;
    } finally {
      password.value = "";
      button.disabled = false;
    }
  }
}
