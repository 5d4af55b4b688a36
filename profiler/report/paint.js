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
    this.colours = this.profile.names.map((name) => {
      const [label, kind] = name;
      let hash = 7;
      for (let i = 0; i < label.length; ++i) hash = (hash * 31 + label.charCodeAt(i)) | 0;
      const hue = (kHues[this.profile.kinds[kind][0]] ?? 80) + ((hash >>> 3) % 17) - 8;
      // What is not the program's own has little colour.
      const strength = this.profile.isForeign(name) ? 10 : 52;
      return `hsl(${hue} ${strength + ((hash >>> 9) % 14)}% ${light + ((hash >>> 15) % 9) - 4}%)`;
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

// As much of a text as has room, with a mark where something is left out; "" if too little would be left.
function fitText(context, text, room) {
  let width = context.measureText(text).width;
  if (width <= room) return text;
  for (let length = text.length; length > 1 && width > room; ) {
    length = Math.min(length - 1, Math.floor((length * room) / width));
    text = `${text.slice(0, Math.max(length - 1, 0))}…`;
    width = context.measureText(text).width;
  }
  return text.length > 1 && width <= room ? text : "";
}

// The last part of "folder/file.py(3): name" says most, so the first goes first.
function drawLabel(context, label, x, y, width) {
  const room = width - 5;
  if (room < 11) return;
  // No letter takes less than 2 pixels, so a longer text need not be measured whole.
  const most = Math.ceil(room / 2);
  const colon = label.lastIndexOf("): ");
  const isLong = label.length > most || context.measureText(label).width > room;
  const text = isLong && colon > 0 ? label.slice(colon + 3) : label;
  context.fillText(fitText(context, text.slice(0, most + 1), room), x + 3, y);
}

// Steps of 1, 2 and 5 that are at least `least` apart.
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= least);
}
