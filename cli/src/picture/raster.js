// A picture of cells that can be looked at more closely. `picture` has `columns` and `rows`, the
// `heightOf(width)` in which it is shown whole, `image()` that paints it, one point a cell, and
// `describe(column, row)`.
async function unpacked(id) {
  const letters = atob(document.getElementById(id).textContent);
  const packed = Uint8Array.from(letters, (one) => one.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The red, green and blue of a colour of the style.
function colorOf(name) {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// By how many hundredths are in use; the first is of what nobody uses.
const FULLNESS = [[10, "m-pinned"], [35, "m-low"], [65, "m-half"], [90, "m-most"], [100, "m-full"]];
function fullnessColors() {
  const of = (full) => FULLNESS.find(([most]) => full <= most)[1];
  const used = Array.from({ length: 100 }, (_, at) => colorOf(of(at + 1)));
  return [colorOf("background"), ...used];
}

// Cells, line by line, one point each.
function painted(columns, rows, count, colorOfCell) {
  const image = new ImageData(columns, rows);
  for (let cell = 0; cell < count; cell++) {
    image.data.set(colorOfCell(cell), cell * 4);
    image.data[cell * 4 + 3] = 255;
  }
  const source = document.createElement("canvas");
  [source.width, source.height] = [columns, rows];
  source.getContext("2d").putImageData(image, 0, 0);
  return source;
}

function raster(canvas, tools, picture) {
  // What is seen, in cells.
  const seen = { x: 0, y: 0, zoom: 1 };
  const context = canvas.getContext("2d");
  let source = null;
  const scale = () => canvas.clientWidth / picture.columns() * seen.zoom;
  const scaleY = () => canvas.clientHeight / picture.rows() * seen.zoom;
  function draw() {
    const points = devicePixelRatio || 1;
    canvas.style.height = `${picture.heightOf(canvas.clientWidth)}px`;
    canvas.width = Math.round(canvas.clientWidth * points);
    canvas.height = Math.round(canvas.clientHeight * points);
    const [width, height] = [picture.columns() / seen.zoom, picture.rows() / seen.zoom];
    seen.x = Math.max(0, Math.min(seen.x, picture.columns() - width));
    seen.y = Math.max(0, Math.min(seen.y, picture.rows() - height));
    context.imageSmoothingEnabled = canvas.width < width;
    context.drawImage(source, seen.x, seen.y, width, height, 0, 0, canvas.width, canvas.height);
    picture.over?.(context, seen, points);
    canvas.classList.toggle("is-zoomed", seen.zoom > 1);
  }
  function paint() {
    source = picture.image();
    draw();
  }
  function at(event) {
    const box = canvas.getBoundingClientRect();
    const column = seen.x + (event.clientX - box.left) / scale();
    return [column, seen.y + (event.clientY - box.top) / scaleY()];
  }
  function zoomTo(zoom, event) {
    const before = event ? at(event) : [seen.x + picture.columns() / seen.zoom / 2,
      seen.y + picture.rows() / seen.zoom / 2];
    const most = Math.max(1, picture.columns() / 8);
    const factor = seen.zoom / Math.max(1, Math.min(zoom, most));
    seen.x = before[0] - (before[0] - seen.x) * factor;
    seen.y = before[1] - (before[1] - seen.y) * factor;
    seen.zoom /= factor;
    draw();
  }
  const pointers = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, event);
    if (isTouch(event)) hover(event);
  });
  function hover(event) {
    const [column, row] = at(event).map(Math.floor);
    const inside = column >= 0 && row >= 0 && column < picture.columns() && row < picture.rows();
    showTip(inside ? picture.describe(column, row) : "", event);
  }
  const distance = (a, b) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return hover(event);
    const other = [...pointers.values()].find((one) => one.pointerId !== event.pointerId);
    if (other) {
      zoomTo(seen.zoom * distance(event, other) / Math.max(1, distance(before, other)), event);
    } else if (seen.zoom > 1) {
      tip.hidden = true;
      seen.x -= (event.clientX - before.clientX) / scale();
      seen.y -= (event.clientY - before.clientY) / scaleY();
      draw();
    } else if (isTouch(event)) hover(event);
    pointers.set(event.pointerId, event);
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"]) {
    canvas.addEventListener(end, (event) => {
      pointers.delete(event.pointerId);
      if (end === "pointerleave") hideTip(event);
    });
  }
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomTo(seen.zoom * 2 ** (-event.deltaY / 200), event);
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => zoomTo(seen.zoom * 2, event));
  canvas.addEventListener("keydown", (event) => {
    const step = 0.2 / seen.zoom;
    const keys = {
      "+": () => zoomTo(seen.zoom * 2), "-": () => zoomTo(seen.zoom / 2), 0: () => zoomTo(1),
      ArrowLeft: () => (seen.x -= picture.columns() * step),
      ArrowRight: () => (seen.x += picture.columns() * step),
      ArrowUp: () => (seen.y -= picture.rows() * step),
      ArrowDown: () => (seen.y += picture.rows() * step),
    };
    if (!keys[event.key] || (event.key.startsWith("Arrow") && seen.zoom === 1)) return;
    event.preventDefault();
    keys[event.key]();
    draw();
  });
  for (const button of tools.querySelectorAll("[data-zoom]")) {
    const by = Number(button.dataset.zoom);
    button.addEventListener("click", () => zoomTo(by ? seen.zoom * by : 1));
  }
  tools.hidden = false;
  let width = 0;
  new ResizeObserver(() => {
    if (canvas.clientWidth === width) return;
    width = canvas.clientWidth;
    paint();
  }).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  return { paint };
}
