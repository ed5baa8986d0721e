// The social graph's button and key. What draws it is fetched when somebody first asks for it.

export class Graph {
  #panel = null;

  /** `workspace`: its parts (root, store, window, palette, actions, queue, api, ...). */
  constructor(workspace) {
    this.workspace = workspace;
    this.button = document.querySelector("#graph-toggle");
    this.button.addEventListener("click", () => this.toggle());
  }

  async toggle() {
    this.#panel ??= import("../graph/panel.js").then(({ GraphPanel }) => new GraphPanel(this.workspace, this.button));
    try {
      (await this.#panel).toggle();
    } catch (error) {
      this.#panel = null; // the next click tries again
      this.workspace.actions.say(`The social graph could not be opened: ${error.message}`, "error");
    }
  }
}
