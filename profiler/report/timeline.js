// timeline.js: threads and tasks over time, on a canvas that stays while its space is scrolled.

const kRuler = 22;
const kHeading = 18;
const kRow = 17;
const kCurve = 46;

class Timeline {
  constructor(view, paint, tip) {
    this.view = view;
    this.paint = paint;
    this.tip = tip;
    this.box = document.getElementById("timeline");
    this.canvas = this.box.querySelector("canvas");
    this.space = document.getElementById("space");
    this.closed = new Set(); // numbers of tracks
    this.isDue = false;
    view.listen((change) => {
      if (change === "selected") this.scrollToBar();
      if (change === "fold") return this.place();
      this.redraw();
    });
    this.box.addEventListener("scroll", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(this.box);
    this.listenToPointer();
    this.place();
  }

  // Where each curve and track begins, from the top of the space.
  place() {
    let top = kRuler;
    this.curves = this.view.profile.memory.map((memory) => {
      const curve = { memory, top };
      top += kHeading + kCurve;
      return curve;
    });
    this.lanes = this.view.profile.tracks.map((track, number) => {
      const rows = this.closed.has(number) ? 0 : track.rows.length;
      const lane = { track, number, top, rows, bottom: top + kHeading + rows * kRow + 6 };
      top = lane.bottom;
      return lane;
    });
    this.space.style.height = `${top}px`;
    this.redraw();
  }
  toggle(number) {
    if (!this.closed.delete(number)) this.closed.add(number);
    this.place();
  }

  timeAt(x) {
    return this.view.begin + (x / this.width) * (this.view.end - this.view.begin);
  }
  xOf(time) {
    return ((time - this.view.begin) / (this.view.end - this.view.begin)) * this.width;
  }

  redraw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.draw();
    });
  }

  draw() {
    this.width = this.box.clientWidth;
    const height = this.box.clientHeight;
    const context = prepare(this.canvas, this.width, height);
    this.scroll = this.box.scrollTop;
    context.fillStyle = this.paint.back;
    context.fillRect(0, 0, this.width, height);
    this.drawGrid(context, height);
    for (const curve of this.curves) this.drawCurve(context, curve);
    for (const lane of this.lanes) {
      if (lane.bottom > this.scroll && lane.top < this.scroll + height) this.drawLane(context, lane, height);
    }
    this.drawRange(context, height);
    this.drawRuler(context);
  }

  drawLane(context, lane, height) {
    const { track, number, top, rows } = lane;
    const y = top - this.scroll;
    this.drawMarks(context, track, y);
    this.drawHeading(context, `${this.closed.has(number) ? "▸" : "▾"} ${track.title}`, y);
    for (let depth = 0; depth < rows; ++depth) {
      const rowTop = y + kHeading + depth * kRow;
      if (rowTop + kRow > kRuler && rowTop < height) this.drawRow(context, track, track.rows[depth], rowTop);
    }
  }
  drawMarks(context, track, y) {
    context.fillStyle = this.paint.mark;
    for (const [time] of track.marks) {
      if (time >= this.view.begin && time <= this.view.end) context.fillRect(this.xOf(time), y + 2, 1, kHeading - 4);
    }
  }
  // The name has a ground of its own, so that it can be read where there are marks.
  drawHeading(context, text, y) {
    context.fillStyle = this.paint.line;
    context.fillRect(0, y, this.width, 1);
    context.fillStyle = this.paint.back;
    context.fillRect(2, y + 1, context.measureText(text).width + 8, kHeading - 1);
    context.fillStyle = this.paint.faint;
    context.fillText(text, 6, y + kHeading / 2 + 1);
  }

  // Bars that are narrower than a pixel become one together.
  drawRow(context, track, row, y) {
    const { view } = this;
    const selected = view.bar && view.bar.track === track ? view.bar.bar : -1;
    const isDimmed = view.matches !== null;
    for (let i = track.firstAfter(row, view.begin); i < row.length; ) {
      const bar = row[i];
      if (track.start[bar] > view.end) break;
      const left = Math.max(this.xOf(track.start[bar]), -1);
      const right = Math.min(this.xOf(track.end[bar]), this.width + 1);
      const isFound = view.isFound(track, bar);
      context.globalAlpha = isDimmed && !isFound ? 0.25 : 1;
      context.fillStyle = this.paint.of(track.number[bar]);
      if (right - left < 1) {
        const pixel = Math.floor(left);
        context.fillRect(pixel, y, 1, kRow - 1);
        if (bar === selected) this.frame(context, pixel - 1, y, 3);
        i = Math.max(track.firstAfter(row, this.timeAt(pixel + 1), i + 1), i + 1);
        continue;
      }
      context.fillRect(left, y, Math.max(right - left - 0.5, 1), kRow - 1);
      if (isFound) {
        context.fillStyle = this.paint.mark;
        context.fillRect(left, y + kRow - 3, right - left - 0.5, 2);
      }
      if (right - left > 16) {
        const isFaint = isDimmed && !isFound;
        context.globalAlpha = isFaint ? 0.6 : 1;
        context.fillStyle = isFaint ? this.paint.text : this.paint.bar_text;
        drawLabel(context, view.profile.labelOf(track, bar), Math.max(left, 0), y + kRow / 2, right - Math.max(left, 0));
      }
      if (bar === selected) this.frame(context, left, y, right - left);
      ++i;
    }
    context.globalAlpha = 1;
  }
  frame(context, left, y, width) {
    context.globalAlpha = 1;
    context.strokeStyle = this.paint.text;
    context.lineWidth = 2;
    context.strokeRect(left + 1, y + 1, Math.max(width - 2, 1), kRow - 3);
  }

  drawCurve(context, { memory, top }) {
    const y = top - this.scroll;
    let most = 1;
    for (const bytes of memory.bytes) most = Math.max(most, bytes);
    this.drawHeading(context, `memory of ${memory.device}: at most ${bytesText(most)}`, y);
    const bottom = y + kHeading + kCurve - 4;
    context.fillStyle = this.paint.accent;
    context.globalAlpha = 0.45;
    context.beginPath();
    let held = 0;
    context.moveTo(0, bottom);
    for (let i = 0; i < memory.times.length; ++i) {
      const x = Math.min(Math.max(this.xOf(memory.times[i]), 0), this.width);
      context.lineTo(x, bottom - (held / most) * (kCurve - 6));
      held = Math.max(memory.bytes[i], 0);
      context.lineTo(x, bottom - (held / most) * (kCurve - 6));
    }
    context.lineTo(Math.min(Math.max(this.xOf(this.view.profile.duration), 0), this.width), bottom - (held / most) * (kCurve - 6));
    context.lineTo(Math.min(Math.max(this.xOf(this.view.profile.duration), 0), this.width), bottom);
    context.fill();
    context.globalAlpha = 1;
  }

  // Calls draw(x, time) for each line of the grid.
  eachStep(draw) {
    const step = niceStep(((this.view.end - this.view.begin) / this.width) * 110);
    this.step = step;
    for (let n = Math.ceil(this.view.begin / step); n * step <= this.view.end; ++n) draw(this.xOf(n * step), n * step);
  }
  drawGrid(context, height) {
    context.fillStyle = this.paint.line;
    this.eachStep((x) => context.fillRect(Math.round(x), 0, 1, height));
  }
  drawRuler(context) {
    context.fillStyle = this.paint.raised;
    context.fillRect(0, 0, this.width, kRuler);
    context.fillStyle = this.paint.faint;
    this.eachStep((x, time) => {
      context.fillRect(Math.round(x), 0, 1, kRuler);
      const text = stepText(time, this.step);
      if (x + 4 + context.measureText(text).width <= this.width) context.fillText(text, x + 4, kRuler / 2);
    });
  }
  drawRange(context, height) {
    if (!this.view.range) return;
    const [from, to] = this.view.range.map((time) => this.xOf(time));
    context.fillStyle = this.paint.accent;
    context.globalAlpha = 0.16;
    context.fillRect(from, 0, to - from, height);
    context.globalAlpha = 1;
    context.fillRect(from, 0, 1, height);
    context.fillRect(to, 0, 1, height);
  }

  // What is at a place of the canvas: {track, bar} or {track} of a heading, or null.
  at(x, y) {
    const down = y + this.box.scrollTop;
    const lane = this.lanes.find((lane) => down >= lane.top && down < lane.bottom);
    if (y < kRuler || !lane) return null;
    if (down < lane.top + kHeading) return { track: lane.track, number: lane.number };
    const row = lane.track.rows[Math.floor((down - lane.top - kHeading) / kRow)];
    if (!row || this.closed.has(lane.number)) return null;
    const pixel = (this.view.end - this.view.begin) / this.width;
    const place = lane.track.firstAfter(row, this.timeAt(x) - pixel);
    const bar = row[place];
    return bar !== undefined && lane.track.start[bar] <= this.timeAt(x) + pixel ? { track: lane.track, bar } : null;
  }

  scrollToBar() {
    if (!this.view.bar) return;
    const { track, bar } = this.view.bar;
    if (this.closed.delete(this.view.profile.tracks.indexOf(track))) this.place();
    const lane = this.lanes.find((lane) => lane.track === track);
    const top = lane.top + kHeading + track.depth[bar] * kRow;
    const { scrollTop, clientHeight } = this.box;
    if (top < scrollTop + kRuler || top + kRow > scrollTop + clientHeight) {
      this.box.scrollTop = Math.max(0, top - clientHeight / 2);
    }
  }

  listenToPointer() {
    let drag = null;
    const place = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const [x, y] = place(event);
      this.canvas.setPointerCapture(event.pointerId);
      drag = { x, y, scroll: this.box.scrollTop, begin: this.view.begin, end: this.view.end, selects: event.shiftKey || y < kRuler, moved: false };
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      if (!drag) return this.showTip(event, x, y);
      if (!drag.moved && Math.abs(x - drag.x) + Math.abs(y - drag.y) < 5) return;
      drag.moved = true;
      this.tip.hide();
      if (drag.selects) return this.view.selectRange(this.timeAt(drag.x), this.timeAt(x));
      const by = ((drag.x - x) / this.width) * (drag.end - drag.begin);
      this.view.show(drag.begin + by, drag.end + by);
      this.box.scrollTop = drag.scroll + drag.y - y;
    });
    this.canvas.addEventListener("pointerup", (event) => {
      const wasDrag = drag && drag.moved;
      drag = null;
      if (wasDrag || event.button !== 0) return;
      const found = this.at(...place(event));
      if (found && found.bar === undefined) this.toggle(found.number);
      else if (found) this.view.selectBar(found.track, found.bar);
      else this.view.selectNothing();
    });
    this.canvas.addEventListener("pointerleave", () => this.tip.hide());
    this.canvas.addEventListener("pointercancel", () => { drag = null; });
    this.canvas.addEventListener("dblclick", () => this.view.zoomToSelected());
    this.box.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        this.view.zoom(Math.exp(event.deltaY * 0.004), this.timeAt(place(event)[0]));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        this.view.move((event.deltaX || event.deltaY) / this.width);
      }
    }, { passive: false });
  }

  showTip(event, x, y) {
    const found = this.at(x, y);
    if (!found) return this.tip.hide();
    const { track, bar } = found;
    this.tip.show(event, bar === undefined
      ? [track.title, `${numberText(track.count)} bars`]
      : [this.view.profile.labelOf(track, bar), `${timeText(track.end[bar] - track.start[bar])}, own ${timeText(track.own[bar])}`]);
  }
}
