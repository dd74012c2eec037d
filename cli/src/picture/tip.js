// What is under the pointer, at once.
const tip = document.body.appendChild(document.createElement("div"));
tip.id = "tip";
tip.hidden = true;
function showTip(text, event) {
  tip.hidden = !text;
  tip.textContent = text;
  const right = Math.max(4, innerWidth - tip.offsetWidth - 8);
  const fits = event.clientY + 18 + tip.offsetHeight < innerHeight;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, right))}px`;
  tip.style.top = `${fits ? event.clientY + 16 : event.clientY - tip.offsetHeight - 10}px`;
}
for (const part of document.querySelectorAll("i.tip")) {
  const text = part.title;
  part.removeAttribute("title");
  part.addEventListener("pointermove", (event) => showTip(text, event));
  part.addEventListener("pointerleave", () => (tip.hidden = true));
}
