// Whether nobody sits at the terminals: then their hooks may wait for the page.
import { headers } from "./keep.js";

export function away(say) {
  const box = document.querySelector("#away input");
  const told = async (reply) => { if (!reply.ok) throw new Error(); box.checked = (await reply.json()).away; };
  document.getElementById("menu").addEventListener("toggle", (event) => {
    if (event.target.open) fetch("/away").then(told).catch(() => {});
  });
  box.onchange = async () => {
    const yes = box.checked;
    try {
      await told(await fetch("/away", { method: "POST", body: JSON.stringify({ away: yes }), headers: headers({ "Content-Type": "application/json" }) }));
      say(yes ? "You are away: terminals may wait for your answers here." : "You are back: terminals ask on their own again.");
    } catch {
      box.checked = !yes;
      say("The hub did not accept it. Try again.");
    }
  };
}
