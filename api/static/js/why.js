// One decision in sentences, from GET /v1/why: the text that innobrim why prints.
import { get } from "./api.js";
import { element, moment } from "./format.js";

export class Why {
  #asked = 0;

  // `place`: the list whose buttons open it; a button has the decision's time in data-at.
  constructor(place) {
    this.dialog = document.getElementById("why-dialog");
    this.title = document.getElementById("why-title");
    this.body = document.getElementById("why-body");
    place.addEventListener("click", ({ target }) => {
      const button = target.closest("button[data-at]");
      if (button) this.#open(button.dataset.at);
    });
    document.getElementById("why-close").addEventListener("click", () => this.dialog.close());
    // the list may have been drawn anew meanwhile
    this.dialog.addEventListener("close", () => place.querySelector(`[data-at="${this.at}"]`)?.focus());
  }

  async #open(at) {
    const mine = this.#asked += 1;
    this.at = at;
    this.title.textContent = `At ${moment(Number(at))}`;
    this.body.replaceChildren(element("p", {}, "Looking it up…"));
    this.dialog.showModal();
    try {
      const { stories, remark } = await get(`/v1/why?at=${at}`);
      if (mine !== this.#asked) return;
      const story = stories.at(-1);
      const number = story?.change?.number;
      if (number) this.title.textContent = `Change ${number}, at ${moment(story.wall)}`;
      const said = story ? [element("p", { class: "headline" }, story.headline), ...story.sentences.map((one) => element("p", {}, one))] : [];
      if (!story || Math.abs(story.wall - Number(at)) > 0.001) said.unshift(element("p", {}, `More is not known of this moment: ${remark || "its tick is gone"}.`));
      this.body.replaceChildren(...said);
    } catch (error) {
      if (mine === this.#asked) this.body.replaceChildren(element("p", { class: "error" }, error.message));
    }
  }
}
