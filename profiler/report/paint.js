// paint.js: colours of bars, and text that fits.

const kHues = {
  Python: 212, C: 190, Callable: 178, Module: 140, Optimizer: 275, Operator: 28, Kernel: 45,
  Annotation: 330, Step: 315, Collection: 4, GilWait: 352, Instruction: 165, Task: 235, Awaiting: 225,
};

class Paint {
  constructor(profile) {
    this.profile = profile;
    this.colours = [];
    this.refresh();
  }

  // After the theme has changed.
  refresh() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["back", "raised", "line", "text", "faint", "accent", "mark", "bar-text", "stripe"]) {
      this[name.replace("-", "_")] = style.getPropertyValue(`--${name}`).trim();
    }
    const light = parseFloat(style.getPropertyValue("--light"));
    this.colours = this.profile.names.map(([label, kind]) => {
      let hash = 7;
      for (let i = 0; i < label.length; ++i) hash = (hash * 31 + label.charCodeAt(i)) | 0;
      const hue = (kHues[this.profile.kinds[kind][0]] ?? 80) + ((hash >>> 3) % 17) - 8;
      return `hsl(${hue} ${52 + ((hash >>> 9) % 14)}% ${light + ((hash >>> 15) % 9) - 4}%)`;
    });
  }
  of(number) {
    return number > 0 ? this.colours[number - 1] : this.stripe;
  }
}

// Fits a canvas to its place on the screen; gives its context, in CSS pixels.
function prepare(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  return context;
}

// The last part of "folder/file.py(3): name" says most, so the first goes first.
function drawLabel(context, label, x, y, width) {
  if (width < 16) return;
  const most = Math.floor(width / 5.4);
  let text = label;
  if (text.length > most) {
    const colon = text.lastIndexOf("): ");
    text = colon > 0 ? text.slice(colon + 3) : text;
  }
  if (text.length > most) text = most > 2 ? `${text.slice(0, most - 1)}…` : "";
  context.save();
  context.beginPath();
  context.rect(x, y - 10, width - 2, 20);
  context.clip();
  context.fillText(text, x + 3, y);
  context.restore();
}

// Steps of 1, 2 and 5 that are at least `least` apart.
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= least);
}
