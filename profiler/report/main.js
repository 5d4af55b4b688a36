// main.js: puts the page together, and listens to its keys.

class Tip {
  constructor() {
    this.box = document.getElementById("tip");
  }
  show(event, lines) {
    this.box.replaceChildren(...lines.map((line) => element("div", line)));
    this.box.hidden = false;
    const { width, height } = this.box.getBoundingClientRect();
    this.box.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - width - 4))}px`;
    this.box.style.top = `${event.clientY + 16 + height > innerHeight ? event.clientY - height - 8 : event.clientY + 16}px`;
  }
  hide() {
    this.box.hidden = true;
  }
}

function setTheme(paint, view) {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  paint.refresh();
  view.tell("time");
}

// The button that hides the calls inside of libraries is there if there are any.
function listenToFold(view) {
  const button = document.getElementById("fold");
  button.hidden = view.profile.folded === undefined;
  const say = () => button.setAttribute("aria-pressed", String(view.profile.isFolded));
  button.addEventListener("click", () => view.fold(!view.profile.isFolded));
  view.listen((change) => {
    if (change !== "fold") return;
    say();
    describe(view.profile);
    view.tell("search");
  });
  say();
}

// What takes the time, what waits, and what to look at, in sentences.
function overviewOf(profile) {
  const busy = profile.rows.filter((row) => row[8] > 0).sort((a, b) => b[8] - a[8]);
  const cpu = busy.reduce((sum, row) => sum + row[8], 0);
  const said = [];
  if (cpu > 0) {
    const part = (row) => `${row[1]} (${Math.round((100 * row[8]) / cpu)} %)`;
    const most = busy.slice(0, 3).filter((row, n) => n === 0 || row[8] >= cpu / 20).map(part);
    said.push(`The threads had a processor for ${timeText(cpu)} in all, most of it in ${most.join(", ")}.`);
  }
  const waits = new Map();
  for (const row of profile.whole.rows) {
    const kind = row[9] || "others";
    waits.set(kind, (waits.get(kind) || 0) + Math.max(row[4] - row[8], 0));
  }
  const waited = [...waits.values()].reduce((sum, time) => sum + time, 0);
  if (waited > cpu / 20 && waited > 0) {
    const kinds = [...waits].filter(([, time]) => time >= waited / 20).sort((a, b) => b[1] - a[1]);
    said.push(`They waited for ${timeText(waited)}: ${kinds.map(([kind, time]) => `${kind} ${timeText(time)}`).join(", ")}.`);
  }
  if (profile.lines.length > 0) {
    const [name, , lines] = profile.lines[0];
    const slowest = lines.reduce((most, line) => (line[2] > most[2] ? line : most));
    said.push(`Of the lines of ${name}, line ${slowest[0]} takes most: ${slowest[3].trim()}`);
  }
  return said;
}

function describe(profile) {
  const name = profile.process || "program";
  document.title = `Profile of ${name}`;
  document.getElementById("title").textContent = name;
  const count = profile.tracks.reduce((sum, track) => sum + track.count, 0) ;
  const threads = profile.tracks.filter((track) => !track.isDerived).length;
  document.getElementById("summary").textContent =
    `${timeText(profile.duration)}, ${numberText(count)} bars, ${threads} ${threads === 1 ? "thread" : "threads"}`;
  document.getElementById("overview").textContent = overviewOf(profile).join(" ");
  const notices = [];
  if (profile.merged > 0) {
    notices.push(`${numberText(profile.merged)} spans of at most ${timeText(profile.longestMerged)} are merged with their neighbours; the tables count each of them.`);
  }
  if (profile.marksLeftOut > 0) {
    notices.push(`${numberText(profile.marksLeftOut)} marks are left out: of those that are frequent, one is shown for each of many equal stretches of time.`);
  }
  const lost = profile.quality.lost + profile.quality.broken;
  if (lost > 0) notices.push(`${numberText(lost)} events were lost: see Quality.`);
  const notice = document.getElementById("notice");
  notice.textContent = notices.join(" ");
  notice.hidden = notices.length === 0;
}

function listenToSearch(view) {
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  search.addEventListener("input", () => view.search(search.value));
  search.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") view.findNext(event.shiftKey);
    if (event.key === "Escape") {
      search.value = "";
      view.search("");
      document.getElementById("timeline").focus();
    }
  });
  let timer = 0;
  view.listen((change) => {
    if (change !== "search") return;
    clearTimeout(timer);
    found.textContent = "";
    if (view.matches) timer = setTimeout(() => { found.textContent = `${numberText(view.foundCount())} calls`; }, 60);
  });
}

function listenToKeys(view, buttons) {
  const actions = {
    w: () => view.zoom(0.7), s: () => view.zoom(1 / 0.7), a: () => view.move(-0.2), d: () => view.move(0.2),
    "+": () => view.zoom(0.7), "-": () => view.zoom(1 / 0.7),
    f: () => view.zoomToSelected(), 0: () => view.showAll(), Escape: () => view.selectNothing(),
    n: () => view.findNext(), N: () => view.findNext(true), t: buttons.theme, "?": buttons.help,
    l: () => view.fold(!view.profile.isFolded), "/": () => document.getElementById("search").focus(),
    ArrowLeft: () => (view.bar ? view.step("before") : view.move(-0.1)),
    ArrowRight: () => (view.bar ? view.step("after") : view.move(0.1)),
    ArrowUp: () => view.step("around"), ArrowDown: () => view.step("inside"),
  };
  document.addEventListener("keydown", (event) => {
    const action = actions[event.key];
    const isArrow = event.key.startsWith("Arrow");
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isArrow && document.activeElement !== document.getElementById("timeline") && document.activeElement !== document.body) return;
    event.preventDefault();
    action();
  });
}

function listenToDivider() {
  const divider = document.getElementById("divider");
  const panel = document.getElementById("panel");
  divider.addEventListener("pointerdown", (event) => divider.setPointerCapture(event.pointerId));
  divider.addEventListener("pointermove", (event) => {
    if (!divider.hasPointerCapture(event.pointerId)) return;
    panel.style.height = `${Math.min(Math.max(innerHeight - event.clientY, 60), innerHeight - 160)}px`;
  });
}

async function start() {
  const place = document.getElementById("data");
  const profile = new Profile(await unpack(place.textContent));
  place.remove();
  const view = new View(profile);
  const paint = new Paint(profile);
  const tip = new Tip();
  const timeline = new Timeline(view, paint, tip);
  const panel = new Panel(view, paint, tip);
  const help = document.getElementById("help");
  const buttons = {
    theme: () => {
      setTheme(paint, view);
      panel.open(panel.current);
    },
    help: () => {
      const keys = document.getElementById("keys");
      keys.hidden = !keys.hidden;
      help.setAttribute("aria-expanded", String(!keys.hidden));
    },
  };
  describe(profile);
  document.getElementById("all").addEventListener("click", () => view.showAll());
  document.getElementById("theme").addEventListener("click", buttons.theme);
  help.addEventListener("click", buttons.help);
  listenToFold(view);
  listenToSearch(view);
  listenToKeys(view, buttons);
  listenToDivider();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    paint.refresh();
    view.tell("time");
  });
  document.body.dataset.ready = "true";
  return { profile, view, timeline, panel };
}

// For a look into the page from outside: its parts, once they are there.
window.report = start();
window.report.catch((error) => {
  const notice = document.getElementById("notice");
  notice.textContent = `This report cannot be shown: ${error.message}. A browser of 2023 or later is needed.`;
  notice.hidden = false;
});
