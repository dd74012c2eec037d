// The address space of a heap: cells in lines, as many in a line as the width is good for.
const FREE = ["free page of a span", "free, in a cache", "free, in a depot",
  "page that nobody uses", "never used", "loam's records"];
const FREE_COLORS = ["m-free", "m-cached", "m-cached", "m-free", "m-rest", "m-own"];
async function heapMap() {
  const info = JSON.parse(document.getElementById("map-info").textContent);
  const bytes = await unpacked("map-cells");
  const count = info.cell_count;
  const plane = (at) => bytes.subarray(at * count, (at + 1) * count);
  const [fullness, contents, heaps] = [0, 1, 2].map(plane);
  const canvas = document.getElementById("map");
  const cellBytes = info.page_bytes * info.cell_pages;
  const size = (bytes) => bytes >= 2 ** 20 ? `${bytes / 2 ** 20} MiB` : `${bytes / 1024} KiB`;
  const cellPages = info.cell_pages === 1 ? "a page of" : `${info.cell_pages} pages,`;
  document.getElementById("map-cell").textContent = `${cellPages} ${size(cellBytes)}`;
  let wanted = null;
  // Points of the screen for each cell; the whole is half as high as wide, on a telephone as high.
  const side = (width) => {
    const shape = width < 600 ? 1 : 0.5;
    return Math.max(1, Math.min(12, Math.floor(width * Math.sqrt(shape / count))));
  };
  const columns = () => {
    const width = canvas.clientWidth;
    return Math.max(1, Math.min(count, Math.floor(width / side(width))));
  };
  const rows = () => Math.ceil(count / columns());
  function address(cell) {
    let [from, to] = [0, info.segments.length - 1];
    while (from < to) {
      const middle = Math.ceil((from + to) / 2);
      if (info.segments[middle].first_cell <= cell) from = middle; else to = middle - 1;
    }
    const segment = info.segments[from];
    const offset = BigInt(cell - segment.first_cell) * BigInt(cellBytes);
    return `0x${(BigInt(`0x${segment.start}`) + offset).toString(16)}`;
  }
  const view = raster(canvas, document.getElementById("map-tools"), {
    columns, rows,
    heightOf: (width) => Math.max(24, rows() * width / columns()),
    image() {
      const colors = fullnessColors().concat(FREE_COLORS.map(colorOf));
      const pale = colorOf("panel");
      const isPale = (cell) => wanted !== null && contents[cell] !== wanted && fullness[cell] !== 0;
      const color = (cell) => isPale(cell) ? pale : colors[fullness[cell]];
      return painted(columns(), rows(), count, color);
    },
    describe(column, row) {
      const cell = row * columns() + column;
      if (cell >= count) return "";
      const full = fullness[cell];
      const used = full <= 100 ? `${full} % in use` : FREE[full - 101];
      const text = full === 0 ? "not in memory" : used;
      const what = info.contents[contents[cell]];
      const heap = info.heaps[heaps[cell]];
      return [address(cell), text + (what ? `: ${what}` : ""), heap]
        .filter(Boolean).join("\n");
    },
  });
  const all = document.getElementById("map-all");
  const choosers = document.querySelectorAll("[data-content]");
  function choose(content) {
    wanted = content === wanted ? null : content;
    for (const one of choosers) {
      one.classList.toggle("is-wanted", Number(one.dataset.content) === wanted);
    }
    all.hidden = wanted === null;
    view.paint();
    if (wanted !== null) canvas.scrollIntoView({ block: "nearest" });
  }
  for (const one of choosers) {
    one.addEventListener("click", () => choose(Number(one.dataset.content)));
  }
  all.addEventListener("click", () => choose(wanted));
  document.body.classList.add("has-map");
}
heapMap();
