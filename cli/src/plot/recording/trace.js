// Recordings: lines over time, and addresses by time. Those beside each other have the same scales.
const units = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
function bytesOf(bytes) {
  const [size, unit] = units.find(([size]) => bytes >= size) ?? units.at(-1);
  return `${Number((bytes / size).toPrecision(3))} ${unit}`;
}
function timeOf(data, column) {
  const at = data.length * (column + 1) / data.columns;
  if (data.unit !== "us") return `event ${Math.round(at).toLocaleString("en")}`;
  const [size, unit] = at < 1e3 ? [1, "µs"] : at < 1e6 ? [1e3, "ms"] : [1e6, "s"];
  return `${Number((at / size).toPrecision(4))} ${unit}`;
}

// The largest of both, a round number of its unit.
function scaleOf(all) {
  let most = 1;
  for (const data of all) {
    for (const line of [data.live_bytes, data.pinned_bytes, data.resident_bytes ?? []]) {
      for (const value of line) most = Math.max(most, value ?? 0);
    }
  }
  const step = 2 ** Math.floor(Math.log2(most) - 2);
  return Math.ceil(most / step) * step;
}

function chart(canvas, data, most, part) {
  const lines = [["m-pinned", data.pinned_bytes, 1.5], ["m-full", data.live_bytes, 2]];
  if (data.resident_bytes) lines.push(["m-own", data.resident_bytes, 1.5]);
  if (data.unpinned_bytes) lines.push(["m-cached", data.unpinned_bytes, 1.5]);
  const space = { left: 4, right: 4, top: 18, bottom: 18 };
  const inner = () => canvas.clientWidth - space.left - space.right;
  let shown = null;
  function draw() {
    const points = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    [canvas.width, canvas.height] = [width * points, height * points];
    const context = canvas.getContext("2d");
    context.scale(points, points);
    context.font = "12px system-ui, sans-serif";
    context.lineJoin = "round";
    const styles = getComputedStyle(document.documentElement);
    const style = (name) => styles.getPropertyValue(`--${name}`);
    const x = (column) => space.left + inner() * part * column / (data.columns - 1);
    const y = (bytes) => height - space.bottom - (height - space.top - space.bottom) * bytes / most;
    for (let at = 0; at <= 4; at++) {
      context.fillStyle = style("rule");
      context.fillRect(space.left, y(most * at / 4), inner(), 1);
    }
    context.fillStyle = style("faint");
    context.fillText("0", space.left, height - 4);
    const end = timeOf(data, data.columns - 1);
    const endAt = x(data.columns - 1) - context.measureText(end).width;
    context.fillText(end, Math.max(space.left + 16, endAt), height - 4);
    context.fillStyle = style("faint");
    for (const column of data.moments) {
      for (let at = space.top; at < height - space.bottom; at += 6) {
        context.fillRect(x(column), at, 1, 3);
      }
    }
    for (const [color, values, thickness] of lines) {
      context.strokeStyle = style(color);
      context.lineWidth = thickness;
      context.beginPath();
      let begun = false;
      values.forEach((value, column) => {
        if (value === null) return;
        if (begun) context.lineTo(x(column), y(value)); else context.moveTo(x(column), y(value));
        begun = true;
      });
      context.stroke();
    }
    // Above the lines, which else run through them.
    [context.strokeStyle, context.lineWidth] = [style("background"), 4];
    context.fillStyle = style("faint");
    for (let at = 1; at <= 4; at++) {
      const label = [bytesOf(most * at / 4), space.left + 2, y(most * at / 4) - 4];
      context.strokeText(...label);
      context.fillText(...label);
    }
    if (shown !== null) {
      context.fillStyle = style("ink");
      context.fillRect(x(shown), space.top, 1, height - space.top - space.bottom);
    }
  }
  function hover(event) {
    const left = canvas.getBoundingClientRect().left + space.left;
    const at = (event.clientX - left) / (inner() * part);
    shown = at < 0 || at > 1 ? null : Math.round(at * (data.columns - 1));
    draw();
    if (shown === null) return showTip("", event);
    const resident = data.resident_bytes?.[shown];
    const unpinned = data.unpinned_bytes?.[shown] ?? null;
    showTip([timeOf(data, shown), `live: ${bytesOf(data.live_bytes[shown])}`,
      `pinned: ${bytesOf(data.pinned_bytes[shown])}`,
      resident ? `in memory: ${bytesOf(resident)}` : "",
      unpinned === null ? "" : `not pinned: ${bytesOf(unpinned)}`].filter(Boolean).join("\n"), event);
  }
  canvas.addEventListener("pointerdown", hover);
  canvas.addEventListener("pointermove", hover);
  canvas.addEventListener("pointerleave", (event) => {
    hideTip(event);
    if (isTouch(event)) return;
    shown = null;
    draw();
  });
  new ResizeObserver(draw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

async function addresses(section, data, id) {
  const bytes = await unpacked(id);
  const { columns, rows } = data;
  const [fullness, pinned] = [bytes.subarray(0, columns * rows), bytes.subarray(columns * rows)];
  raster(section.querySelector(".raster"), section.querySelector(".raster-tools"), {
    columns: () => columns,
    rows: () => rows,
    heightOf: (width) => Math.max(160, Math.min(480, width * 0.5)),
    image() {
      const colors = fullnessColors();
      return painted(columns, Math.max(1, rows), columns * rows, (cell) => colors[fullness[cell]]);
    },
    describe(column, row) {
      const cell = row * columns + column;
      const where = `${timeOf(data, column)}, 0x${data.addresses[row]}`;
      if (!fullness[cell]) return `${where}\nnothing is live`;
      const pages = Math.max(1, Math.round(pinned[cell] * data.row_pages / 100));
      const of = data.row_pages > 1 ? ` of ${data.row_pages}` : "";
      return `${where}\n${pages}${of} pages pinned, ${fullness[cell]} % of them in use`;
    },
  });
}

const sections = [...document.querySelectorAll("[data-recording]")];
const recordings = sections.map((section) =>
  JSON.parse(document.getElementById(`data-${section.dataset.recording}`).textContent));
const highest = scaleOf(recordings);
const sameUnit = recordings.every((data) => data.unit === recordings[0].unit);
const longest = Math.max(...recordings.map((data) => data.length));
sections.forEach((section, at) => {
  const data = recordings[at];
  section.querySelector(".of-resident").hidden = !data.resident_bytes;
  section.querySelector(".of-unpinned").hidden = !data.unpinned_bytes;
  const part = sameUnit && longest ? data.length / longest : 1;
  chart(section.querySelector(".chart"), data, highest, part);
  addresses(section, data, `cells-${section.dataset.recording}`);
});
