// Adds a phone: a link for its camera, made when somebody asks for it. It works once.
const make = (name, text = "", more = {}) => Object.assign(document.createElement(name), { textContent: text, ...more });

function draw(said) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${said.size} ${said.size}`);
  svg.setAttribute("class", "qr");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "QR code of the link below");
  svg.setAttribute("shape-rendering", "crispEdges");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", said.path);
  svg.append(path);
  return svg;
}

const plain = "This is plain http: anyone on the same network can read questions, answers and logins, and answer in your name. Use it at home only. There are no push notifications.";

function tell(said, lan) {
  const away = make("p", "acp-bridge-hub help operate has ways to reach it from anywhere.", { className: "soft" });
  if (!said.link && said.lan === "off") {
    return [make("p", "Only this machine reaches the hub. Let phones on this network in?"), ...(location.protocol === "http:" ? [make("p", plain, { className: "warn" })] : []),
      make("button", "Let this network in", { type: "button", className: "allow", onclick: () => lan(true) }), away];
  }
  if (!said.link) return [make("p", "This machine has no address on a network now: only it reaches the hub."), away];
  const list = [make("p", "Scan this with the phone's camera. It works once, within 15 minutes, and lets the phone answer."), draw(said),
    make("p", said.link, { className: "address" })];
  if (said.others?.length) list.push(make("p", "If that does not work, begin it with " + said.others.join(" or ") + " instead.", { className: "soft" }));
  if (said.fingerprint) {
    list.push(make("p", "The phone's browser will warn about an unknown certificate. Continue if it has this fingerprint (SHA-256):"), make("p", said.fingerprint, { className: "address" }));
  } else if (said.plain) {
    list.push(make("p", plain, { className: "warn" }));
  }
  list.push(make("p", "The phone has a name of its own in receipts. acp-bridge-hub device remove NAME revokes its access.", { className: "soft" }));
  if (said.lan === "on") list.push(make("button", "Keep this network out again", { type: "button", className: "link", onclick: () => lan(false) }));
  return list;
}

export default async function ({ headers }) {
  if (document.getElementById("phone")) return;
  const d = make("dialog", "", { id: "phone" });
  d.setAttribute("aria-labelledby", "phone-name");
  const body = make("div");
  body.setAttribute("role", "status");
  const close = make("button", "Close", { className: "quiet", type: "button", onclick: () => d.close() });
  d.append(make("h2", "Add a phone", { id: "phone-name" }), body, close);
  d.onclose = () => d.remove(); // with the code in it
  document.body.append(d);
  d.showModal();
  async function post(path, body) {
    const reply = await fetch(path, { method: "POST", body, headers: headers({ Accept: "application/json", "Content-Type": "application/json" }) });
    const said = await reply.json();
    if (!reply.ok) throw new Error(said.error);
    return said;
  }
  const show = async (first) => {
    try {
      if (first) await post("/lan", first);
      body.replaceChildren(...tell(await post("/phones"), (on) => show(JSON.stringify({ on }))));
    } catch (problem) {
      body.replaceChildren(make("p", "That did not work: " + problem.message, { className: "problem" }));
    }
  };
  await show();
}
