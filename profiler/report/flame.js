// flame.js: calls of equal stacks together, as wide as the time that they took in what is shown.

const kFlameRow = 18;

class Flame {
  constructor(view, paint, tip) {
    this.view = view;
    this.paint = paint;
    this.tip = tip;
    this.canvas = element("canvas", "", { class: "flame" });
    this.canvas.addEventListener("click", (event) => {
      const node = this.at(event);
      if (!node) return;
      this.top = node === this.top ? this.root : node;
      this.draw();
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const node = this.at(event);
      if (!node) return tip.hide();
      tip.show(event, [this.labelOf(node), `${timeText(node.time)}, ${((100 * node.time) / this.root.time).toFixed(1)} %`]);
    });
    this.canvas.addEventListener("pointerleave", () => tip.hide());
  }

  labelOf(node) {
    if (node === this.root) return "everything that is shown";
    return node.number > 0 ? this.view.profile.names[node.number - 1][0] : "short calls, merged";
  }

  build() {
    const { profile, range } = this.view;
    const [from, to] = range || [this.view.begin, this.view.end];
    this.root = { number: -1, time: 0, children: new Map(), parent: null };
    for (const track of profile.tracks) {
      if (track.isDerived) continue;
      const nodes = [];
      for (let bar = 0; bar < track.count; ++bar) {
        const time = Math.min(track.end[bar], to) - Math.max(track.start[bar], from);
        if (time <= 0) continue;
        const depth = track.depth[bar];
        const parent = depth > 0 ? nodes[depth - 1] : this.root;
        const number = track.number[bar];
        let node = parent.children.get(number);
        if (!node) parent.children.set(number, (node = { number, time: 0, children: new Map(), parent }));
        node.time += time;
        if (depth === 0) this.root.time += time;
        nodes[depth] = node;
      }
    }
    this.top = this.root;
  }

  show(content) {
    this.build();
    content.replaceChildren(this.canvas);
    this.draw();
  }

  draw() {
    const width = this.canvas.parentElement.clientWidth - 24;
    this.boxes = [];
    let height = 0;
    const place = (node, left, depth, size) => {
      if (size < 0.7) return;
      this.boxes.push({ node, left, top: depth * kFlameRow, size });
      height = Math.max(height, (depth + 1) * kFlameRow);
      let at = left;
      for (const child of [...node.children.values()].sort((a, b) => b.time - a.time)) {
        const part = (size * child.time) / Math.max(node.time, 1);
        place(child, at, depth + 1, part);
        at += part;
      }
    };
    const around = [];
    for (let node = this.top.parent; node; node = node.parent) around.unshift(node);
    around.forEach((node, depth) => this.boxes.push({ node, left: 0, top: depth * kFlameRow, size: width }));
    place(this.top, 0, around.length, width);
    const context = prepare(this.canvas, width, Math.max(height, kFlameRow));
    for (const { node, left, top, size } of this.boxes) {
      context.globalAlpha = around.includes(node) ? 0.45 : 1;
      context.fillStyle = node === this.root ? this.paint.raised : this.paint.of(node.number);
      context.fillRect(left, top, Math.max(size - 0.5, 0.5), kFlameRow - 1);
      context.fillStyle = node === this.root ? this.paint.text : this.paint.bar_text;
      drawLabel(context, this.labelOf(node), left, top + kFlameRow / 2, size);
    }
    context.globalAlpha = 1;
  }

  at(event) {
    const { offsetX: x, offsetY: y } = event;
    const found = this.boxes.find((box) => x >= box.left && x < box.left + box.size && y >= box.top && y < box.top + kFlameRow);
    return found ? found.node : null;
  }
}
