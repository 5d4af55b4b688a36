// data.js: parses the page's data from the text behind it. See opyard/profiler/report.h.

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function unpack(text) {
  const comma = text.indexOf(",");
  const bytes = bytesOf(text.slice(comma + 1).trim());
  if (text.slice(0, comma).trim() === "plain") return bytes;
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(unpacked).arrayBuffer());
}

class Varints {
  constructor(bytes, begin, length) {
    this.bytes = bytes;
    this.at = begin;
    this.end = begin + length;
  }
  more() {
    return this.at < this.end;
  }
  next() {
    let number = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = this.bytes[this.at++];
      number += (byte & 127) * unit;
      if (byte < 128) return number;
    }
  }
}

const kNone = 0xffffffff;

// One thread or task: bars by number, in the order of their starts, and by depth.
class Track {
  constructor(head, columns) {
    this.name = head.name;
    this.id = head.id;
    this.isDerived = head.derived === 1; // made of what the threads did: of a task, or of futures
    this.marks = head.marks;
    this.decode(head.bars, columns);
  }

  decode(count, [starts, durations, levels, names, cuts, merged]) {
    this.count = count;
    this.start = new Float64Array(count);
    this.end = new Float64Array(count);
    this.own = new Float64Array(count);
    this.number = new Uint32Array(count);
    this.parent = new Uint32Array(count);
    this.depth = new Uint32Array(count);
    const open = [];
    const counts = [];
    let start = 0;
    for (let bar = 0; bar < count; ++bar) {
      start += starts.next();
      const duration = durations.next();
      open.length -= levels.next();
      const depth = open.length;
      const parent = depth > 0 ? open[depth - 1] : kNone;
      this.start[bar] = start;
      this.end[bar] = start + duration;
      this.own[bar] = duration;
      if (parent !== kNone) this.own[parent] -= duration;
      this.number[bar] = names.next();
      this.parent[bar] = parent;
      this.depth[bar] = depth;
      open.push(bar);
      counts[depth] = (counts[depth] || 0) + 1;
    }
    this.rows = counts.map((length) => new Uint32Array(length));
    const next = counts.map(() => 0);
    for (let bar = 0; bar < count; ++bar) {
      const depth = this.depth[bar];
      this.rows[depth][next[depth]++] = bar;
    }
    this.cut = Track.sparse(cuts);
    this.merged = Track.sparse(merged);
  }

  static sparse(column) {
    const found = new Map();
    for (let bar = -1; column.more(); ) {
      bar += column.next();
      found.set(bar, column.next());
    }
    return found;
  }

  get title() {
    if (this.isDerived) return this.name;
    return this.name ? `${this.name} (${this.id})` : `thread ${this.id}`;
  }

  // The first place in a row whose bar ends behind a time.
  firstAfter(row, time, from = 0) {
    let low = from;
    let high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[row[middle]] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  placeInRow(bar) {
    const row = this.rows[this.depth[bar]];
    let low = 0;
    let high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row[middle] < bar) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  firstChild(bar) {
    return bar + 1 < this.count && this.parent[bar + 1] === bar ? bar + 1 : kNone;
  }
}

class Profile {
  constructor(bytes) {
    if (String.fromCharCode(...bytes.subarray(0, 4)) !== "OPR1") throw new Error("the data is damaged");
    const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
    Object.assign(this, JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length))));
    let begin = 8 + length;
    // Tracks are decoded when they are first shown: see fold().
    const notDecoded = (heads) => heads.map((head, n) => {
      const columns = head.columns.map((length) => {
        const column = new Varints(bytes, begin, length);
        begin += length;
        return column;
      });
      return () => new Track({ ...wholeHeads[n], ...head }, columns);
    });
    const wholeHeads = this.tracks;
    const { tracks, rows, rowsLeftOut, merged, longestMerged } = this;
    this.whole = { tracks: notDecoded(tracks), rows, rowsLeftOut, merged, longestMerged };
    if (this.folded) this.folded.tracks = notDecoded(this.folded.tracks);
    this.fold(this.folded !== undefined);
  }

  // Shows the profile without the calls inside of libraries, or all of them.
  fold(isFolded) {
    this.isFolded = isFolded;
    const shown = isFolded ? this.folded : this.whole;
    shown.tracks = shown.tracks.map((track) => (track instanceof Track ? track : track()));
    Object.assign(this, shown);
    let end = this.duration;
    for (const track of this.tracks) {
      if (track.rows.length > 0) end = Math.max(end, track.end[track.rows[0].at(-1)]);
    }
    this.end = Math.max(end, 1);
  }

  labelOf(track, bar) {
    const number = track.number[bar];
    if (number > 0) return this.names[number - 1][0];
    return `${(track.merged.get(bar) || 0).toLocaleString("en")} short calls`;
  }
  // Whether a function is a library's, or one in C.
  isForeign([, kind, , , , origin]) {
    return origin > 0 || ["C", "Callable"].includes(this.kinds[kind][0]);
  }
  kindOf(track, bar) {
    const number = track.number[bar];
    return number > 0 ? this.names[number - 1][1] : -1;
  }
}

const kUnits = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
function timeText(ns, digits = 3) {
  const [unit, size] = kUnits.find(([, size]) => Math.abs(ns) >= size) || kUnits[3];
  const value = ns / size;
  return `${unit === "ns" ? Math.round(value) : value.toFixed(Math.abs(value) >= 100 ? Math.min(1, digits) : digits)} ${unit}`;
}
// A time beside others that are a step apart, with as many digits as tell them apart.
function stepText(ns, step) {
  const [unit, size] = kUnits.find(([, size]) => Math.abs(ns) >= size) || kUnits[3];
  const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
  return `${(ns / size).toFixed(digits)} ${unit}`;
}
function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (Math.abs(bytes) >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return `${unit === 0 ? bytes : bytes.toFixed(2)} ${units[unit]}`;
}
const numberText = (number) => number.toLocaleString("en");
