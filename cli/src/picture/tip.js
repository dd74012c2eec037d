// What is under the pointer, at once.
const tip = document.body.appendChild(document.createElement("div"));
tip.id = "tip";
tip.hidden = true;
function showTip(text, event) {
  tip.hidden = !text;
  tip.textContent = text;
  const right = Math.max(4, innerWidth - tip.offsetWidth - 8);
  // A finger hides what is below it.
  const above = event.clientY - tip.offsetHeight - (isTouch(event) ? 28 : 10);
  const fits = event.clientY + 18 + tip.offsetHeight < innerHeight;
  const isBelow = isTouch(event) ? above < 4 : fits;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, right))}px`;
  tip.style.top = `${isBelow ? event.clientY + (isTouch(event) ? 28 : 16) : above}px`;
}
function isTouch(event) {
  return event.pointerType === "touch";
}
// What a finger has shown stays when it is lifted, until the next one.
function hideTip(event) {
  if (!isTouch(event)) tip.hidden = true;
}
document.addEventListener("pointerdown", () => (tip.hidden = true), { capture: true });
for (const part of document.querySelectorAll("i.tip")) {
  const text = part.title;
  part.removeAttribute("title");
  for (const over of ["pointerdown", "pointermove"]) {
    part.addEventListener(over, (event) => showTip(text, event));
  }
  part.addEventListener("pointerleave", hideTip);
}
