// A Plot draws lines over time on a canvas. It can do what the page at /live needs of a plot, and no more.
'use strict';

const kMargin = { left: 62, right: 24, top: 8, bottom: 26 };  // the words of the axes stand in it, around the lines
const kRoom = { times: 70, values: 34, marks: 13 };  // the least from one to the next where both have words
const kTimeSteps = [5, 10, 15, 30, 60, 120, 300, 600];  // seconds
const kFont = 'system-ui, sans-serif';

// The least of 1, 2 and 5, times a power of ten, that is not below this: its multiples are short to write.
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find(factor => factor * power >= least) ?? 10);
}

function multiplesOf(step, from, to) {
  const multiples = [];
  for (let n = Math.ceil(from / step); n * step <= to; n++) multiples.push(n * step);
  return multiples;
}

// A thin line is sharp where it fills one row of pixels, and does not lie between two.
const sharp = position => Math.round(position) + 0.5;

class Plot {
  // Its canvas fills `area`. `lines` are { colour, dashed }, with colours by their names in the style sheet. Values go from 0
  // to `least`, or as far as there are higher ones; `wordsOf` makes one readable. Marks have words where `hasWords` is true.
  constructor(area, { lines, least, wordsOf, hasWords }) {
    Object.assign(this, { area, lines, least, wordsOf, hasWords, pointed: null, frame: null });
    this.pen = area.appendChild(document.createElement('canvas')).getContext('2d');
    this.pointer = area.appendChild(document.createElement('div'));
    this.pointer.className = 'pointer';
    Object.assign(this.pointer.style, { top: kMargin.top + 'px', bottom: kMargin.bottom + 'px' });
    new ResizeObserver(() => this.renew()).observe(area);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.renew());
  }

  // Shows the time between `from` and `to`. `values` has a list for each line, with a value for each of `times`, or null for a
  // gap; `marks` are { at, text }, the oldest first. Every time is in seconds since 1970.
  show({ from, to, times, values, marks }) {
    const first = times.findIndex(time => time >= from);
    Object.assign(this, { from, to, times: times.slice(first), values: values.map(list => list.slice(first)) });
    this.marks = marks.filter(({ at }) => at >= from && at <= to);
    this.highest = Math.max(this.least, 1.08 * Math.max(...this.values.flat()));
    this.renew();
  }

  // A line through the plot stands at this time; null takes it away.
  pointAt(time) {
    this.pointed = time;
    this.placePointer();
  }

  timeAt(clientX) {
    const x = clientX - this.area.getBoundingClientRect().left;
    return this.from + (x - kMargin.left) / this.width * (this.to - this.from);
  }

  // It is drawn with the browser's next frame: once for all that changed until then, and not while the page is hidden.
  renew() {
    this.frame ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.frame = null;
    const { area: { clientWidth, clientHeight }, pen } = this;
    this.width = clientWidth - kMargin.left - kMargin.right;
    this.height = clientHeight - kMargin.top - kMargin.bottom;
    // A canvas is emptied when its size is set. A move to another screen can change the density of its pixels.
    Object.assign(pen.canvas, { width: clientWidth * devicePixelRatio, height: clientHeight * devicePixelRatio });
    Object.assign(pen.canvas.style, { width: clientWidth + 'px', height: clientHeight + 'px' });
    pen.scale(devicePixelRatio, devicePixelRatio);
    const style = getComputedStyle(this.area);
    const colourOf = name => style.getPropertyValue('--' + name);
    this.drawAxes(colourOf('line'), colourOf('soft'));
    this.lines.forEach(({ colour, dashed }, i) => this.drawLine(this.values[i], colourOf(colour), dashed));
    this.drawMarks(colourOf('soft'), colourOf('card'));
    this.placePointer();
  }

  xOf(time) { return kMargin.left + (time - this.from) / (this.to - this.from) * this.width; }
  yOf(value) { return kMargin.top + (1 - value / this.highest) * this.height; }

  drawAxes(gridColour, wordColour) {
    const { pen, from, to, width, height } = this;
    pen.beginPath();
    Object.assign(pen, { fillStyle: wordColour, font: '11px ' + kFont, textAlign: 'right', textBaseline: 'middle' });
    for (const value of multiplesOf(roundStep(this.highest * kRoom.values / height), 0, this.highest)) {
      const y = sharp(this.yOf(value));
      pen.moveTo(kMargin.left, y);
      pen.lineTo(kMargin.left + width, y);
      pen.fillText(this.wordsOf(value), kMargin.left - 6, y);
    }
    Object.assign(pen, { textAlign: 'center', textBaseline: 'top' });
    const step = kTimeSteps.find(seconds => seconds * width >= kRoom.times * (to - from)) ?? kTimeSteps.at(-1);
    const clockOf = time => new Date(time * 1000).toTimeString().slice(0, step < 60 ? 8 : 5);
    for (const time of multiplesOf(step, from, to)) pen.fillText(clockOf(time), this.addVertical(time), kMargin.top + height + 6);
    pen.strokeStyle = gridColour;
    pen.stroke();
  }

  drawLine(values, colour, isDashed) {
    const { pen } = this;
    pen.beginPath();
    values.forEach((value, i) => {
      if (value === null) return;
      const [x, y] = [this.xOf(this.times[i]), this.yOf(value)];
      if ((values[i - 1] ?? null) === null) pen.moveTo(x - 0.1, y);  // a sample between two gaps is seen too, as a dot
      pen.lineTo(x, y);
    });
    Object.assign(pen, { strokeStyle: colour, lineWidth: isDashed ? 1.2 : 1.8, lineCap: 'round', lineJoin: 'round' });
    pen.setLineDash(isDashed ? [4, 5] : []);
    pen.stroke();
  }

  // A mark is a dotted line, and its words run up beside it: those of the newer one where there is no room for both.
  drawMarks(colour, background) {
    const { pen, height } = this;
    pen.beginPath();
    pen.setLineDash([]);
    Object.assign(pen, { fillStyle: colour, strokeStyle: background, lineWidth: 3, font: '10px ' + kFont, textAlign: 'left' });
    let free = Infinity;  // up to here words may stand
    for (const { at, text } of this.marks.toReversed()) {
      const x = this.addVertical(at);
      if (!this.hasWords || x > free) continue;
      free = x - kRoom.marks;
      pen.save();
      pen.translate(x + 3, kMargin.top + height - 4);
      pen.rotate(-Math.PI / 2);
      pen.globalAlpha = 0.5;
      pen.strokeText(text, 0, 0, height - 8);  // the lines are paler around the words, which are read then
      pen.globalAlpha = 1;
      pen.fillText(text, 0, 0, height - 8);
      pen.restore();
    }
    Object.assign(pen, { strokeStyle: colour, lineWidth: 1, lineCap: 'butt' });
    pen.setLineDash([2, 3]);
    pen.stroke();
  }

  addVertical(time) {
    const x = sharp(this.xOf(time));
    this.pen.moveTo(x, kMargin.top);
    this.pen.lineTo(x, kMargin.top + this.height);
    return x;
  }

  placePointer() {
    const { pointer, pointed } = this;
    pointer.hidden = pointed === null || pointed < this.from;
    if (!pointer.hidden) pointer.style.left = Math.round(this.xOf(pointed)) + 'px';
  }
}
