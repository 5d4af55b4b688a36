// panel.js: the lower half: the selection, tables, the flame graph, and data quality.

// What the words of the quality report mean.
const kQualityTerms = {
  "events": "begins and ends of calls, and other moments, that were captured",
  "lost": "events for which there was no memory",
  "dropped exits": "ends of calls whose begin was not captured; they are left out",
  "clamped": "calls whose end was not captured; they end with the call around them",
  "open before": "calls that had begun before the profile; they are shown from its start",
  "open after": "calls that were open when the profile ended; they are shown to its end",
  "backwards": "events with an earlier time than the one before; they take its time",
  "broken": "events of no known kind, such as those of a damaged file",
  "clock": "what times were read from",
  "threads comparable to ns": "times of two threads may differ by this many nanoseconds",
  "event cost ns": "what storing one event takes, in nanoseconds; a call is two, and Python's part comes on top",
  "processes": "processes that are in this profile",
};

// And of a sampled profile.
const kSampleTerms = {
  "events": "stacks that were sampled",
  "lost": "stacks that changed while they were read; their time counts as that of the next sample",
  "sample period ns": "nanoseconds from one sample to the next",
  "sample period asked for ns": "it is longer if samples came late, or if they took too much CPU time and so became rarer",
  "rounds of samples": "times that the threads were looked at",
  "rounds in which the GIL was held": "of them, those that found a thread with the lock of the interpreter",
  "CPU time of the sampler ns": "nanoseconds of CPU time that sampling took",
  "rounds that came too late": "samples that were not taken, since the sampler got no processor in time",
};

class Panel {
  constructor(view, paint, tip) {
    this.view = view;
    this.flame = new Flame(view, paint, tip);
    this.content = document.getElementById("content");
    this.current = "Functions";
    const bar = document.getElementById("tabs");
    bar.addEventListener("keydown", (event) => {
      const names = [...this.tabs.keys()];
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.stopPropagation();
      this.open(names[(names.indexOf(this.current) + step + names.length) % names.length]);
      bar.querySelector('[aria-selected="true"]').focus();
    });
    view.listen((change) => this.hear(change));
    this.refresh();
  }

  // After another profile is to be shown: the folded one, or the whole.
  refresh() {
    this.tabs = this.makeTabs();
    document.getElementById("tabs").replaceChildren(...[...this.tabs.keys()].map((name) => {
      const button = element("button", name, { role: "tab", "data-tab": name });
      button.addEventListener("click", () => this.open(name));
      return button;
    }));
    this.open(this.tabs.has(this.current) ? this.current : "Functions");
  }

  makeTabs() {
    const { profile } = this.view;
    const hasMemory = profile.memory.length > 0;
    const eventCost = profile.quality["event cost ns"];
    const rowsOf = (...kinds) => profile.rows.filter((row) => kinds.includes(profile.kinds[row[0]][0]));
    // A search filters the rows; a click on a row searches for that one, and leaves all.
    const found = (rows) => (this.view.isWhole ? rows : rows.filter((row) => this.view.isFoundLabel(row[1])));
    const table = (rows) => () => this.content.replaceChildren(makeTable(callColumns(hasMemory, eventCost, profile.samplePeriod), found(rows), (row) => this.find(row[1])));
    const tabs = new Map([["Selected", () => this.showSelected()], ["Functions", table(profile.rows)], ["Flame graph", () => this.flame.show(this.content)]]);
    const operators = rowsOf("Operator", "Kernel");
    if (operators.length > 0) tabs.set("Operators", table(operators));
    if (profile.keys.length > 0) tabs.set("Dispatch keys", () => this.showKeys());
    const modules = rowsOf("Module", "Optimizer");
    if (modules.length > 0) tabs.set("Modules", table(modules));
    const imports = profile.rows.filter((row) => row[1].endsWith(": <module>"));
    if (imports.length > 0) tabs.set("Imports", table(imports));
    if (profile.sampledLines.length > 0) tabs.set("Lines", () => this.showSampledLines());
    if (this.tasks().length > 0) tabs.set("Tasks", () => this.showTasks());
    if (profile.lines.length > 0) tabs.set("Lines", () => this.showLines());
    if (hasMemory) tabs.set("Memory", () => this.showMemory());
    tabs.set("Quality", () => this.showQuality());
    return tabs;
  }

  open(name) {
    this.current = name;
    for (const button of document.querySelectorAll("#tabs button")) {
      const isCurrent = button.dataset.tab === name;
      button.setAttribute("aria-selected", String(isCurrent));
      button.tabIndex = isCurrent ? 0 : -1;
    }
    this.content.scrollTop = 0;
    this.tabs.get(name)();
  }

  hear(change) {
    if (change === "fold") return this.refresh();
    if (change === "search" && !this.view.isWhole && !["Selected", "Flame graph"].includes(this.current)) return this.open(this.current);
    if (change === "selected" && (this.view.bar || this.view.range)) {
      if (this.current === "Flame graph" && this.view.range) this.later();
      else this.open("Selected");
    } else if (change === "selected" && this.current === "Selected") this.open("Selected");
    else if (change === "time" && this.current === "Flame graph" && !this.view.range) this.later();
  }
  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.current === "Flame graph" && this.open("Flame graph"), 150);
  }

  find(label) {
    document.getElementById("search").value = label;
    this.view.search(label, true);
    this.view.selectNothing();
    this.view.findNext();
  }

  showSelected() {
    const { bar, range } = this.view;
    if (bar) this.showBar(bar);
    else if (range) {
      const heading = element("h2", `${timeText(range[1] - range[0])} from ${timeText(range[0])} on`);
      const columns = callColumns(false, this.view.profile.quality["event cost ns"], this.view.profile.samplePeriod);
      this.content.replaceChildren(heading, makeTable(columns, sumOfRange(this.view.profile, range), (row) => this.find(row[1])));
    } else {
      this.content.replaceChildren(element("p", "Click on a bar, or drag on the ruler to select a stretch of time.", { class: "faint" }));
    }
  }

  showBar({ track, bar }) {
    const { profile } = this.view;
    const name = track.number[bar] > 0 ? profile.names[track.number[bar] - 1] : null;
    const facts = [
      ["Takes", timeText(track.end[bar] - track.start[bar])],
      ["Own time", timeText(track.own[bar])],
      ["Begins at", timeText(track.start[bar])],
      ["In", track.title],
    ];
    if (profile.samplePeriod > 0) {
      facts[0][0] = "Sampled for";
      facts[2] = ["Samples", "of one slice of time, laid side by side: how long, not when"];
    }
    if (name) facts.unshift(["Kind", `${profile.kinds[name[1]][0]}: ${profile.kinds[name[1]][2]}`]);
    else facts.unshift(["Kind", `calls of at most ${timeText(profile.longestMerged)}, which share one bar`]);
    if (name && name.length > 2) facts.push(["Function", name[4]], ["File", `${name[2]}, line ${name[3]}`]);
    const cut = track.cut.get(bar) || 0;
    if (cut & 1) facts.push(["Cut", "it began before the profile"]);
    if (cut & 2) facts.push(["Cut", "it was open at the end of the profile"]);
    if (cut & 4) facts.push(["Cut", "its end was not captured"]);
    const list = element("dl", "", { class: "facts" });
    for (const [key, value] of facts) list.append(element("dt", key), element("dd", value));
    const around = [];
    for (let outer = track.parent[bar]; outer !== kNone; outer = track.parent[outer]) around.push(outer);
    this.content.replaceChildren(element("h2", profile.labelOf(track, bar)), list);
    if (around.length === 0) return;
    const columns = [
      { title: "Called from", of: (outer) => profile.labelOf(track, outer) },
      { title: "Level", of: (outer) => track.depth[outer], text: numberText, sorted: true },
      { title: "Takes", of: (outer) => track.end[outer] - track.start[outer], text: timeText },
      { title: "Own time", of: (outer) => track.own[outer], text: timeText },
    ];
    this.content.append(makeTable(columns, around, (outer) => this.view.selectBar(track, outer)));
  }

  showKeys() {
    this.content.replaceChildren(makeTable([
      { title: "Dispatch key", of: (row) => row[0] },
      { title: "Calls", of: (row) => row[1], text: numberText },
      { title: "Redispatches", of: (row) => row[2], text: numberText },
      { title: "Own time", of: (row) => row[3], text: timeText, share: true, sorted: true },
    ], this.view.profile.keys));
  }

  // Of a sampled profile: [label, line, own time, own CPU time, total time].
  showSampledLines() {
    const lines = this.view.profile.sampledLines.filter((line) => this.view.isWhole || this.view.isFoundLabel(line[0]));
    this.content.replaceChildren(makeTable([
      { title: "Function", of: (line) => line[0] },
      { title: "Line", of: (line) => line[1], text: numberText },
      { title: "CPU", of: (line) => line[3], text: timeText, share: true, sorted: true },
      { title: "Own time", of: (line) => line[2], text: timeText, share: true },
      { title: "Total time", of: (line) => line[4], text: timeText, share: true },
    ], lines, (line) => this.find(line[0])));
  }

  tasks() {
    const { profile } = this.view;
    const isTask = (track) => track.isDerived && track.count > 0 && profile.kinds[profile.kindOf(track, 0)]?.[0] === "Task";
    return profile.tracks.filter(isTask);
  }
  showTasks() {
    const tasks = this.tasks();
    const lasted = (track) => track.end[0] - track.start[0];
    this.content.replaceChildren(makeTable([
      { title: "Task", of: (track) => track.title },
      { title: "From first run to last", of: lasted, text: timeText, share: true, sorted: true },
      { title: "Ran", of: (track) => track.own[0], text: timeText, share: true },
      { title: "Awaited", of: (track) => lasted(track) - track.own[0], text: timeText },
      { title: "Awaits", of: (track) => track.count - 1, text: numberText },
    ], tasks, (track) => this.view.selectBar(track, 0)));
  }

  showMemory() {
    const { profile } = this.view;
    const peak = ({ times, bytes }) => {
      let place = 0;
      bytes.forEach((held, n) => { if (held > bytes[place]) place = n; });
      return [bytes[place], times[place]];
    };
    const devices = makeTable([
      { title: "Device", of: (memory) => memory.device, sorted: true },
      { title: "Most held", of: (memory) => peak(memory)[0], text: bytesText },
      { title: "At", of: (memory) => peak(memory)[1], text: timeText },
      { title: "Held at the end", of: (memory) => memory.bytes.at(-1), text: bytesText },
    ], profile.memory, (memory) => this.view.show(peak(memory)[1] - profile.end / 100, peak(memory)[1] + profile.end / 100));
    const rows = profile.rows.filter((row) => row[7] !== 0 || row[6] !== 0);
    const columns = callColumns(true, profile.quality["event cost ns"]).map((column) => ({ ...column, sorted: column.title === "Own memory" }));
    this.content.replaceChildren(devices, element("p", "What took memory and did not give it back, counted from the start of the profile:", { class: "faint" }),
      makeTable(columns, rows, (row) => this.find(row[1])));
  }

  // In the order of the text, so that no heading sorts them.
  showLines() {
    const parts = this.view.profile.lines.map(([name, place, lines]) => {
      const whole = lines.reduce((sum, [, , time]) => sum + time, 0);
      const most = lines.reduce((found, [, , time]) => Math.max(found, time), 1);
      const part = element("section");
      part.append(element("h2", `${name}: ${timeText(whole)}`), element("p", place, { class: "faint" }));
      const table = element("table", "", { class: "lines" });
      const heading = table.createTHead().insertRow();
      for (const title of ["Source", "Line", "Count", "Time", "Each", "Part"]) heading.append(element("th", title, { scope: "col" }));
      const body = table.createTBody();
      for (const [line, count, time, text] of lines) {
        const row = body.insertRow();
        row.insertCell().append(element("code", text));
        const texts = [line, count ? numberText(count) : "", time ? timeText(time) : "", count ? timeText(time / count) : "", time ? `${((100 * time) / whole).toFixed(1)} %` : ""];
        for (const said of texts) row.insertCell().textContent = said;
        row.cells[3].className = "share";
        row.cells[3].style.setProperty("--part", `${(100 * time) / most}%`);
      }
      part.append(table);
      return part;
    });
    this.content.replaceChildren(...parts);
  }

  showQuality() {
    const { profile } = this.view;
    const terms = profile.samplePeriod > 0 ? { ...kQualityTerms, ...kSampleTerms } : kQualityTerms;
    const list = element("dl", "", { class: "facts" });
    const add = (key, value) => list.append(element("dt", key), element("dd", typeof value === "number" ? numberText(value) : typeof value === "string" ? value : JSON.stringify(value)));
    add("process", `${profile.process} (${profile.processId})`);
    add("began", new Date(profile.begin).toISOString());
    for (const [key, value] of Object.entries(profile.quality)) {
      const meaning = terms[key];
      add(key, meaning ? `${typeof value === "number" ? numberText(value) : value}: ${meaning}` : value);
    }
    add("spans merged for this page", profile.merged);
    if (profile.rowsLeftOut > 0) add("rows of the table left out", profile.rowsLeftOut);
    if (profile.marksLeftOut > 0) add("marks left out", profile.marksLeftOut);
    for (const [key, value] of Object.entries(profile.metadata)) add(key, value);
    this.content.replaceChildren(list);
  }
}
