// tables.js: rows that are sorted by a click on a heading.

function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  if (text !== "") made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

const kRowsAtOnce = 300;

// Columns are {title, of(row), text(number), share}; the first is the name. onRow is told the row
// that was chosen.
function makeTable(columns, rows, onRow) {
  const box = element("div");
  columns = columns.filter((column) => !column.isOptional || rows.some((row) => (typeof column.of(row) === "string" ? column.of(row) !== "" : column.of(row) > 0)));
  let sorted = columns.findIndex((column) => column.sorted);
  let isUp = false;
  let shown = kRowsAtOnce;

  function draw() {
    const { of } = columns[sorted];
    const ordered = [...rows].sort((a, b) => {
      const [one, other] = [of(a), of(b)];
      const order = typeof one === "string" ? one.localeCompare(other) : one - other;
      return isUp ? order : -order;
    });
    const table = element("table");
    const heading = table.createTHead().insertRow();
    columns.forEach((column, n) => {
      const cell = element("th", column.title + (n === sorted ? (isUp ? " ▲" : " ▼") : ""), { tabindex: "0", scope: "col" });
      const sort = () => {
        isUp = n === sorted ? !isUp : n === 0;
        sorted = n;
        draw();
      };
      cell.addEventListener("click", sort);
      cell.addEventListener("keydown", (event) => event.key === "Enter" && sort());
      heading.append(cell);
    });
    const body = table.createTBody();
    const most = columns.map((column) => column.share ? rows.reduce((sum, row) => Math.max(sum, column.of(row)), 0) : 0);
    for (const row of ordered.slice(0, shown)) {
      const line = body.insertRow();
      line.tabIndex = 0;
      columns.forEach((column, n) => {
        const value = column.of(row);
        const cell = line.insertCell();
        cell.textContent = column.text ? column.text(value) : value;
        if (n === 0) cell.title = value;
        if (most[n] > 0) {
          cell.className = "share";
          cell.style.setProperty("--part", `${Math.max(0, (100 * value) / most[n])}%`);
        }
      });
      if (!onRow) continue;
      line.addEventListener("click", () => onRow(row));
      line.addEventListener("keydown", (event) => event.key === "Enter" && onRow(row));
    }
    box.replaceChildren(table);
    if (ordered.length > shown) {
      const more = element("button", `${numberText(ordered.length - shown)} more rows`);
      more.addEventListener("click", () => {
        shown *= 4;
        draw();
      });
      box.append(more);
    }
    if (rows.length === 0) box.append(element("p", "Nothing was captured for this table.", { class: "faint" }));
  }
  draw();
  return box;
}

// Of rows as the head of the data has them: [kind, label, calls, total, own, longest, memory, own memory,
// own CPU time, what it waits for], the last two of which sums of a stretch of time lack.
// `eventCost` is what storing one event takes, in nanoseconds, and a call is two. Rows of a sampled
// profile are no calls: `samplePeriod` is the time between two samples, 0 of others.
function callColumns(hasMemory, eventCost, samplePeriod = 0) {
  const ofCalls = ["Calls", "Total each", "Longest", "Profiler's part"];
  let columns = [
    { title: "Name", of: (row) => row[1] },
    { title: "Calls", of: (row) => row[2], text: numberText },
    { title: "Own time", of: (row) => row[4], text: timeText, share: true, sorted: true },
    { title: "CPU", of: (row) => row[8] ?? 0, text: timeText, isOptional: true },
    { title: "Waits", of: (row) => Math.max(row[4] - row[8], 0) || 0, text: timeText, isOptional: true },
    { title: "For", of: (row) => (row[4] - row[8] > row[4] / 100 ? row[9] ?? "" : ""), isOptional: true },
    { title: "Total time", of: (row) => row[3], text: timeText, share: true },
    { title: "Total each", of: (row) => row[3] / row[2], text: timeText },
    { title: "Longest", of: (row) => row[5], text: timeText },
    { title: "Profiler's part", of: (row) => 2 * row[2] * eventCost, text: timeText },
  ];
  if (samplePeriod > 0) {
    columns = columns.filter((column) => !ofCalls.includes(column.title));
    columns.push({ title: "Samples", of: (row) => Math.round(row[3] / samplePeriod), text: numberText });
  }
  if (hasMemory) {
    columns.push({ title: "Own memory", of: (row) => row[7], text: bytesText });
    columns.push({ title: "Memory", of: (row) => row[6], text: bytesText });
  }
  return columns;
}

// What ran within a stretch of time, one row for each name; times are cut at its ends.
function sumOfRange(profile, [from, to]) {
  const rows = new Map();
  for (const track of profile.tracks) {
    if (track.isDerived) continue;
    const inside = new Float64Array(track.count);
    for (let bar = 0; bar < track.count; ++bar) {
      const part = Math.min(track.end[bar], to) - Math.max(track.start[bar], from);
      if (part < 0 || (part === 0 && track.end[bar] > track.start[bar])) continue;
      inside[bar] += part;
      if (track.parent[bar] !== kNone) inside[track.parent[bar]] -= part;
    }
    for (let bar = 0; bar < track.count; ++bar) {
      if (track.end[bar] < from || track.start[bar] > to) continue;
      const part = Math.min(track.end[bar], to) - Math.max(track.start[bar], from);
      if (part === 0 && track.end[bar] > track.start[bar]) continue;
      const number = track.number[bar];
      const label = number > 0 ? profile.names[number - 1][0] : "short calls, merged";
      let row = rows.get(number);
      if (!row) rows.set(number, (row = [profile.kindOf(track, bar), label, 0, 0, 0, 0, 0, 0]));
      row[2] += number > 0 ? 1 : track.merged.get(bar) || 1;
      if (!isInsideSame(track, bar)) row[3] += part;
      row[4] += inside[bar];
      row[5] = Math.max(row[5], part);
    }
  }
  return [...rows.values()];
}
function isInsideSame(track, bar) {
  for (let outer = track.parent[bar]; outer !== kNone; outer = track.parent[outer]) {
    if (track.number[outer] === track.number[bar]) return true;
  }
  return false;
}
