// Whether this browser is told of questions: its user has allowed it, and has not
// stopped it here.
import { get, headers, set, soon } from "./keep.js";
import { lazy, rearrange, say } from "./page.js";

const toldName = "acp-bridge told";
const wants = () => "Notification" in window && Notification.permission === "granted" && get(toldName) !== "no";

// What else this device is told of.
const kindsName = "acp-bridge kinds";
const boxes = [...document.querySelectorAll("#notify-kinds input")];
function kinds() {
  try { return JSON.parse(get(kindsName)) ?? []; } catch { return []; }
}
for (const box of boxes) {
  box.checked = kinds().includes(box.value);
  box.onchange = async () => {
    set(kindsName, JSON.stringify(boxes.filter((b) => b.checked).map((b) => b.value)));
    await subscribe();
    say(how());
  };
}

// Pushes come when the page is closed, too. Without them, because the browser
// has no service for it or the hub no https, the page itself notifies.
let pushed = false, pushing;
const subscribe = () => pushing = lazy("subscribe", { kinds, headers }).then((yes) => { pushed = yes ?? pushed; });

const how = () => `Notifications are on${pushed ? ", also while this page is closed" : " while this page is open"}.`;

function shows(text, tag) {
  if (pushed || !wants() || !document.hidden) return;
  try { new Notification(text, { tag, renotify: true }); } catch {} // not on this device
}
export const notify = () => shows("A question is waiting for you", "acp-bridge");

// A turn has ended: pages that are looked at say it themselves. That an agent waits in its
// terminal is a question, too.
export function turned(t) {
  const said = { failed: " has failed", done: " is done", waits: " waits in its terminal" }[t.event];
  if (!said) return;
  const text = t.agent + said;
  if (!document.hidden) say(text + (t.cwd ? " in " + t.cwd.split(/[/\\]/).pop() : ""));
  else if (t.event === "waits" || kinds().includes(t.event)) shows(text, t.conversation);
}

const asking = document.getElementById("ask-notify");
const asker = asking.querySelector("button"), hint = asking.querySelector(".hint");
function showAsking() {
  asking.hidden = !("Notification" in window);
  const denied = !asking.hidden && Notification.permission === "denied";
  asker.textContent = wants() ? "Stop notifying me" : "Notify me about questions";
  document.getElementById("notify-kinds").hidden = asking.hidden || !wants();
  hint.hidden = !denied;
  hint.textContent = denied ? "This browser blocks notifications from this page. Allow them in its settings for this site." : "";
}
async function toggle() {
  if (wants()) {
    await soon(pushing, 4000); // or that comes behind this
    pushed = false;
    const stopped = await lazy("unsubscribe", { headers });
    set(toldName, stopped ? "no" : "yes");
    return stopped ? "Notifications are off." : "They could not be turned off. Try again.";
  }
  if (await Notification.requestPermission() !== "granted") return "Notifications are blocked in this browser.";
  set(toldName, "yes");
  await subscribe();
  return how();
}
let toggling = false;
asker.onclick = async () => {
  if (toggling) return;
  toggling = true;
  const said = await toggle();
  toggling = false;
  rearrange(() => { showAsking(); say(said); });
};
addEventListener("load", () => setTimeout(() => { // what is permitted is asked of another process
  showAsking();
  if (wants()) subscribe();
}));
