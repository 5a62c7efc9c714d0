// Whether nobody sits at the terminals: then their hooks may wait for the page. The header
// says so for as long as it is on: forgotten, terminals would look frozen.
import { headers } from "./keep.js";
import { moved, say } from "./page.js";

export function away() {
  const box = document.querySelector("#away input"), back = document.getElementById("back");
  const told = async (reply) => {
    if (!reply.ok) throw new Error();
    box.checked = (await reply.json()).away;
    if (back.hidden === box.checked) moved(back.parentElement); // another button is in its place
    back.hidden = !box.checked;
  };
  const look = () => { if (!document.hidden) fetch("/away").then(told).catch(() => {}); };
  const set = async (yes) => {
    try {
      await told(await fetch("/away", { method: "POST", body: JSON.stringify({ away: yes }), headers: headers({ "Content-Type": "application/json" }) }));
      say(yes ? "You are away: terminals may wait for your answers here." : "You are back: terminals ask on their own again.");
    } catch {
      box.checked = !yes;
      say("The hub did not accept it. Try again.");
    }
  };
  box.onchange = () => set(box.checked);
  back.onclick = () => set(false);
  document.getElementById("menu").addEventListener("toggle", (event) => { if (event.target.open) look(); });
  document.addEventListener("visibilitychange", look);
  setInterval(look, 30000); // acp-bridge away says so elsewhere
  look();
}
