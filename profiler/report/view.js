// view.js: the visible range and the selection; notifies all parts of changes.

class View {
  constructor(profile) {
    this.profile = profile;
    this.begin = 0;
    this.end = profile.end;
    this.bar = null; // {track, bar}
    this.range = null; // [from, to]
    this.pattern = "";
    this.isWhole = false; // whether a name must be the pattern, or hold it
    this.matches = null; // by number of name
    this.listeners = [];
  }

  // Changes: "time", "selected", "search", "fold".
  listen(listener) {
    this.listeners.push(listener);
  }
  tell(change) {
    for (const listener of this.listeners) listener(change);
  }

  show(begin, end) {
    const least = 20; // ns
    const length = Math.min(Math.max(end - begin, least), this.profile.end * 1.1);
    begin = Math.min(Math.max(begin, -this.profile.end * 0.05), this.profile.end * 1.05 - length);
    this.begin = begin;
    this.end = begin + length;
    this.tell("time");
  }
  showAll() {
    this.show(0, this.profile.end);
  }
  zoom(factor, at = (this.begin + this.end) / 2) {
    this.show(at - (at - this.begin) * factor, at + (this.end - at) * factor);
  }
  move(part) {
    const step = (this.end - this.begin) * part;
    this.show(this.begin + step, this.end + step);
  }

  selectBar(track, bar) {
    this.bar = bar === kNone || bar === undefined ? null : { track, bar };
    this.range = null;
    this.tell("selected");
  }
  selectRange(from, to) {
    this.range = from === to ? null : [Math.min(from, to), Math.max(from, to)];
    this.bar = null;
    this.tell("selected");
  }
  // Hides or shows the calls inside of libraries.
  fold(isFolded) {
    if (!this.profile.folded || isFolded === this.profile.isFolded) return;
    this.profile.fold(isFolded);
    this.bar = null;
    this.tell("fold");
  }

  selectNothing() {
    this.bar = this.range = null;
    this.tell("selected");
  }

  zoomToSelected() {
    if (this.range) this.show(...this.range);
    if (!this.bar) return;
    const { track, bar } = this.bar;
    const margin = (track.end[bar] - track.start[bar]) * 0.05 + 10;
    this.show(track.start[bar] - margin, track.end[bar] + margin);
  }

  // To the neighbour in the same row, the bar around it, or the first inside it.
  step(direction) {
    if (!this.bar) return;
    const { track, bar } = this.bar;
    let next;
    if (direction === "around") next = track.parent[bar];
    else if (direction === "inside") next = track.firstChild(bar);
    else {
      const row = track.rows[track.depth[bar]];
      next = row[track.placeInRow(bar) + (direction === "after" ? 1 : -1)];
    }
    if (next === undefined || next === kNone) return;
    this.selectBar(track, next);
    this.bringIntoView();
  }
  bringIntoView() {
    const { track, bar } = this.bar;
    const [start, end] = [track.start[bar], track.end[bar]];
    const length = this.end - this.begin;
    if (end - start > length) this.show(start - 0.05 * (end - start), end + 0.05 * (end - start));
    else if (start < this.begin || end > this.end) this.show((start + end - length) / 2, (start + end + length) / 2);
    this.tell("selected");
  }

  search(pattern, isWhole = false) {
    this.pattern = pattern;
    this.isWhole = isWhole;
    this.matches = pattern === "" ? null : Uint8Array.from(this.profile.names, ([label]) => (this.isFoundLabel(label) ? 1 : 0));
    this.tell("search");
  }
  isFound(track, bar) {
    const number = track.number[bar];
    return this.matches !== null && number > 0 && this.matches[number - 1] === 1;
  }
  isFoundLabel(label) {
    return this.pattern === "" || (this.isWhole ? label === this.pattern : label.toLowerCase().includes(this.pattern.toLowerCase()));
  }
  // Calls, whether they have bars of their own or not.
  foundCount() {
    return this.profile.rows.reduce((sum, row) => sum + (this.isFoundLabel(row[1]) ? row[2] : 0), 0);
  }
  // Selects the next one, or the one before, from what is selected on, over all tracks.
  findNext(isBackwards = false) {
    if (this.matches === null) return;
    const { tracks } = this.profile;
    const step = isBackwards ? -1 : 1;
    let place = this.bar ? tracks.indexOf(this.bar.track) : isBackwards ? tracks.length - 1 : 0;
    let bar = this.bar ? this.bar.bar + step : isBackwards ? tracks[place].count - 1 : 0;
    for (let round = 0; round <= tracks.length; ++round) {
      const track = tracks[place];
      for (; bar >= 0 && bar < track.count; bar += step) {
        if (!this.isFound(track, bar)) continue;
        this.selectBar(track, bar);
        this.bringIntoView();
        return;
      }
      place = (place + step + tracks.length) % tracks.length;
      bar = isBackwards ? tracks[place].count - 1 : 0;
    }
  }
}
