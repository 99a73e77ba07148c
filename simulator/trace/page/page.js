'use strict';
// Shows the data that simulator/trace/page.cpp has put into the element `data`, in the format described there.

const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const UNITS = ['load', 'compute', 'store'];
const CAUSES = ['none', 'fetch', 'unit', 'drain', 'token_prev', 'token_next'];
const MEMORY = ['latency', 'bandwidth', 'row_miss', 'refresh', 'full', 'arbitration'];
// The units whose tokens pop_prev and pop_next take, by unit.
const TOKEN_FROM = {load: ['', 'compute'], compute: ['load', 'store'], store: ['compute', '']};
const CAUSE_TEXT = {none: 'no wait', fetch: 'waited to be fetched', unit: 'the unit was busy', drain: 'the pipeline had to drain'};

// ---- Decoding: base64 of unsigned LEB128 numbers; signed ones are folded onto them. ----

function bytesOf(text) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) bytes[i] = raw.charCodeAt(i);
  return bytes;
}
function reader(text) {
  const bytes = bytesOf(text);
  let at = 0;
  return {
    more: () => at < bytes.length,
    next() {
      let value = 0, scale = 1, byte;
      do {
        byte = bytes[at++];
        value += (byte & 127) * scale;
        scale *= 128;
      } while (byte & 128);
      return value;
    },
    signed() {
      const folded = this.next();
      return folded % 2 ? -(folded + 1) / 2 : folded / 2;
    },
  };
}

const count = data.events;
const E = {
  unit: new Uint8Array(count), cause: new Uint8Array(count), tokens: new Uint8Array(count), source: new Uint32Array(count), program: new Uint16Array(count),
  instruction: new Float64Array(count), issue: new Float64Array(count), start: new Float64Array(count), end: new Float64Array(count),
  begin: new Float64Array(count),  // begin of the slice: after the preceding one in its unit
  idle: new Float64Array(count),   // the cycle after the end of the preceding one
  kind: new Uint8Array(count), template: new Uint32Array(count), numbersAt: new Uint32Array(count),
};
const waits = new Map();
let numbers;
const KINDS = ['gemm', 'alu', 'wgt', 'inp', 'acc', 'uop', 'store', 'other'];
const KIND_TEXT = {gemm: 'GEMM', alu: 'ALU', wgt: 'load weights', inp: 'load inputs', acc: 'load accumulators', uop: 'load micro-ops', store: 'store', other: 'other'};
const templateKind = data.templates.map(text => {
  const word = text.split(' ')[0];
  if (word.startsWith('gemm') || word.startsWith('window')) return 0;
  if (word.startsWith('alu')) return 1;
  const memory = ['wgt', 'inp', 'acc', 'uop'].findIndex(name => word.startsWith('load.' + name));
  if (memory >= 0) return 2 + memory;
  return word.startsWith('store') ? 6 : 7;
});

function decode() {
  const columns = {};
  for (const name of Object.keys(data.columns)) columns[name] = reader(data.columns[name]);
  const all = [];
  const before = data.templates.map(() => []);
  let i = 0, source = 0;
  for (const launch of data.launches) {
    const free = [launch.origin, launch.origin, launch.origin];
    let issue = launch.origin, instruction = -1;
    for (let k = 0; k < launch.events; ++k, ++i) {
      const packed = columns.unit.next();
      const unit = packed & 3;
      E.unit[i] = unit;
      E.cause[i] = packed >> 2;
      E.tokens[i] = columns.tokens.next();
      E.program[i] = launch.program;
      E.instruction[i] = instruction += 1 + columns.instruction.signed();
      E.issue[i] = issue += columns.issue.next();
      E.start[i] = issue + columns.start.next();
      E.end[i] = E.start[i] + columns.length.next();
      E.source[i] = source += columns.source.signed();
      E.idle[i] = free[unit];
      E.begin[i] = Math.max(E.start[i], free[unit]);
      free[unit] = E.end[i] + 1;
      const template = columns.template.next();
      E.template[i] = template;
      E.kind[i] = templateKind[template];
      E.numbersAt[i] = all.length;
      const last = before[template];
      const fields = data.templates[template].split('\u0001').length + data.templates[template].split('\u0002').length - 2;
      for (let f = 0; f < fields; ++f) all.push(last[f] = (last[f] || 0) + columns.numbers.signed());
    }
  }
  numbers = Float64Array.from(all);
  for (let event = -1; columns.waits.more();) {
    event += 1 + columns.waits.next();
    waits.set(event, MEMORY.map(() => columns.waits.next()));
  }
}
decode();

function textOf(i) {
  let at = E.numbersAt[i];
  return data.templates[E.template[i]].replace(/[\u0001\u0002]/g, mark => mark === '\u0002' ? '0x' + numbers[at++].toString(16) : String(numbers[at++]));
}
const total = data.launches.reduce((sum, launch) => sum + launch.cycles, 0);
const byUnit = [0, 1, 2].map(unit => {
  const list = [];
  for (let i = 0; i < count; ++i) if (E.unit[i] === unit) list.push(i);
  return Uint32Array.from(list);
});
const issuesOf = byUnit.map(list => Float64Array.from(list, i => E.issue[i] + 1));
const startsOf = byUnit.map(list => Float64Array.from(list, i => E.start[i] + 1));

// The k-th pop of a FIFO takes the k-th push of its launch.
const PREV = {1: 0, 2: 1}, NEXT = {0: 1, 1: 2};
const arrows = [];
(function () {
  let first = 0;
  for (const launch of data.launches) {
    const pushes = {}, pops = {};
    for (let i = first; i < first + launch.events; ++i) {
      const unit = E.unit[i], bits = E.tokens[i];
      const add = (table, from, to) => (table[from + '>' + to] = table[from + '>' + to] || []).push(i);
      if (bits & 1) add(pops, PREV[unit], unit);
      if (bits & 2) add(pops, NEXT[unit], unit);
      if (bits & 4) add(pushes, unit, PREV[unit]);
      if (bits & 8) add(pushes, unit, NEXT[unit]);
    }
    for (const fifo of Object.keys(pushes))
      for (let k = 0; k < Math.min(pushes[fifo].length, (pops[fifo] || []).length); ++k) arrows.push([pushes[fifo][k], pops[fifo][k]]);
    first += launch.events;
  }
  arrows.sort((a, b) => E.end[a[0]] - E.end[b[0]]);
})();

// ---- Small helpers. ----

const LAYER_COLUMNS = ['layer', 'cycles', 'share', 'compute unit', 'MACs', 'MACs per cycle', 'bound', 'of the bound', 'model MACs per cycle', 'of the peak'];
const grouped = value => Math.round(value).toLocaleString('en-US');
const percent = (part, whole) => whole ? (100 * part / whole).toFixed(1) + ' %' : '–';
const compact = value => value >= 1e9 ? (value / 1e9).toFixed(2) + ' G' : value >= 1e6 ? (value / 1e6).toFixed(2) + ' M' : value >= 1e4 ? (value / 1e3).toFixed(1) + ' k' : grouped(value);
const bytesText = value => value >= 1 << 20 ? (value / (1 << 20)).toFixed(1) + ' MiB' : value >= 1024 ? (value / 1024).toFixed(1) + ' KiB' : value + ' B';
let colors = {};
function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['page', 'panel', 'line', 'text', 'muted', 'grid', 'accent', 'hover', 'read', 'written', ...KINDS, ...CAUSES, ...MEMORY])
    colors[name] = style.getPropertyValue('--' + name).trim();
}
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) name === 'class' ? made.className = value : name === 'style' ? made.style.cssText = value : made.setAttribute(name, value);
  made.append(...children);
  return made;
}
function legend(id, entries) {
  $(id).replaceChildren(...entries.map(([name, text]) => element('span', {}, element('i', {style: 'background:var(--' + name + ')'}), text)));
}
const tip = $('tip');
function showTip(event, ...content) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8), y = event.clientY + 16;
  tip.style.left = Math.max(4, x) + 'px';
  tip.style.top = (y + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : y) + 'px';
}
const hideTip = () => { tip.hidden = true; };
function list(pairs) {
  const made = element('dl');
  for (const [name, value] of pairs) if (value !== '') made.append(element('dt', {}, name), element('dd', {}, value));
  return made;
}
function causeText(i) {
  const cause = CAUSES[E.cause[i]], unit = UNITS[E.unit[i]];
  if (cause.startsWith('token')) return 'waited for a token of ' + TOKEN_FROM[unit][cause === 'token_prev' ? 0 : 1];
  return CAUSE_TEXT[cause];
}
const waitsText = split => split ? MEMORY.map((name, m) => split[m] ? grouped(split[m]) + ' ' + name.replace('_', ' ') : '').filter(Boolean).join(', ') : '';
function about(i) {
  const waited = E.start[i] - E.idle[i];
  return [element('b', {}, data.sources[E.source[i]] || textOf(i).split(' ')[0]), element('br'), element('code', {}, textOf(i)),
    list([['instruction', grouped(E.instruction[i])], ['issue', grouped(E.issue[i])], ['start', grouped(E.start[i])], ['end', grouped(E.end[i])],
      ['cycles', grouped(E.end[i] - E.start[i] + 1)], ['before', (waited > 0 ? grouped(waited) + ' idle: ' : '') + causeText(i)],
      ['for memory', waitsText(waits.get(i))]])];
}

// ---- Timeline. ----

const canvas = $('timeline'), context = canvas.getContext('2d');
const LEFT = 94, RULER = 22, RIBBON = 20, TRACK = 50, SLICE = 30, WAIT = 8, CURVE = 30, GAP = 8, MAP = 26;
const CURVES = [0, 1, 2].map(unit => ({name: UNITS[unit] + ' queue', unit}));
const HAS_TRAFFIC = data.launches.some(launch => launch.traffic);
if (HAS_TRAFFIC) CURVES.push({name: 'read', way: 'read'}, {name: 'written', way: 'written'});
const HEIGHT = RULER + RIBBON + 3 * TRACK + GAP + CURVES.length * (CURVE + 4) + GAP + MAP;
let width = 800, view = [0, Math.max(1, total)], kept = -1, hovered = -1;
const xOf = cycle => LEFT + (cycle - view[0]) / (view[1] - view[0]) * (width - LEFT);
const cycleOf = x => view[0] + (x - LEFT) / (width - LEFT) * (view[1] - view[0]);
const trackY = unit => RULER + RIBBON + unit * TRACK + 6;
const curveY = k => RULER + RIBBON + 3 * TRACK + GAP + k * (CURVE + 4);

// The first position in [0, size) from which on `holds` is true.
function bound(size, holds) {
  let low = 0, high = size;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle; else low = middle + 1;
  }
  return low;
}

// The layers in the order of the compute unit's time: runs of instructions of one source.
const ribbons = [];
for (const i of byUnit[1]) {
  const last = ribbons[ribbons.length - 1];
  if (last && last.source === E.source[i]) last.end = E.end[i] + 1;
  else ribbons.push({source: E.source[i], begin: last ? Math.max(E.idle[i], last.end) : E.idle[i], end: E.end[i] + 1});
}

const queueMost = byUnit.map((list, unit) => {
  let most = 1;
  for (let k = 0, left = 0; k < list.length; ++k) {
    while (left < list.length && startsOf[unit][left] <= issuesOf[unit][k]) ++left;
    most = Math.max(most, k + 1 - left);
  }
  return most;
});
// Beats in [from, to), by the windows of the launches.
function beats(way, from, to) {
  let sum = 0;
  for (const launch of data.launches) {
    if (!launch.traffic || launch.origin + launch.cycles <= from || launch.origin >= to) continue;
    const window = launch.traffic.window, values = launch.traffic[way];
    const begin = Math.max(0, (from - launch.origin) / window), end = Math.min(values.length, (to - launch.origin) / window);
    for (let w = Math.floor(begin); w < end; ++w) sum += values[w] * (Math.min(end, w + 1) - Math.max(begin, w));
  }
  return sum;
}

function fitText(text, room) {
  if (context.measureText(text).width <= room) return text;
  let length = Math.floor(text.length * room / Math.max(1, context.measureText(text).width)) - 1;
  return length > 1 ? text.slice(0, length) + '…' : '';
}

function drawUnit(unit) {
  const list = byUnit[unit], y = trackY(unit);
  const perPixel = (view[1] - view[0]) / (width - LEFT);
  let k = bound(list.length, p => E.end[list[p]] + 1 > view[0]);
  while (k < list.length && E.idle[list[k]] < view[1]) {
    const i = list[k];
    const x0 = Math.max(LEFT, xOf(E.begin[i])), x1 = Math.min(width, xOf(E.end[i] + 1));
    if (x1 - x0 < 1) {
      // Slices that share a pixel are one mark; the search jumps to the next pixel.
      context.fillStyle = colors[KINDS[E.kind[i]]];
      context.globalAlpha = .75;
      context.fillRect(Math.floor(x0), y, 1, SLICE);
      context.globalAlpha = 1;
      const next = cycleOf(Math.floor(x0) + 1);
      k = Math.max(k + 1, bound(list.length, p => E.end[list[p]] + 1 > next));
      continue;
    }
    const idle = Math.max(LEFT, xOf(E.idle[i]));
    if (x0 - idle >= 1) {
      context.fillStyle = colors[CAUSES[E.cause[i]]];
      context.fillRect(idle, y + SLICE + 2, x0 - idle, WAIT);
    }
    context.fillStyle = colors[KINDS[E.kind[i]]];
    context.fillRect(x0, y, Math.max(1, x1 - x0 - (perPixel < .25 ? 1 : .5)), SLICE);
    // The part of the slice that waited for memory.
    const split = waits.get(i);
    if (split) {
      const sum = split.reduce((a, b) => a + b, 0), length = E.end[i] + 1 - E.begin[i];
      let x = x0;
      MEMORY.forEach((name, m) => {
        const part = (x1 - x0) * split[m] / Math.max(length, sum);
        context.fillStyle = colors[name];
        if (part >= .5) context.fillRect(x, y + SLICE - 5, part, 5);
        x += part;
      });
    }
    if (x1 - x0 > 34) {
      context.fillStyle = '#ffffff';
      context.font = '600 11.5px system-ui, sans-serif';
      context.fillText(fitText((data.sources[E.source[i]] || '') + ' ' + textOf(i).split(' ')[0], x1 - x0 - 8), x0 + 4, y + 12);
      context.font = '10.5px system-ui, sans-serif';
      context.fillText(fitText('#' + E.instruction[i] + '  ' + grouped(E.end[i] - E.start[i] + 1), x1 - x0 - 8), x0 + 4, y + 23);
    }
    if (i === kept || i === hovered) {
      context.strokeStyle = colors.text;
      context.lineWidth = i === kept ? 2 : 1;
      context.strokeRect(x0 + .5, y + .5, Math.max(1, x1 - x0 - 1.5), SLICE - 1);
    }
    ++k;
  }
}

function drawArrows() {
  const first = bound(arrows.length, p => E.end[arrows[p][0]] >= view[0] - (view[1] - view[0]));
  const shown = [];
  for (let k = first; k < arrows.length && E.end[arrows[k][0]] <= view[1]; ++k) {
    if (E.begin[arrows[k][1]] < view[0]) continue;
    shown.push(arrows[k]);
    if (shown.length > 400) return;  // zoomed out too far to distinguish them
  }
  for (const [push, pop] of shown) {
    const from = E.unit[push], to = E.unit[pop], down = to > from;
    const x0 = xOf(E.end[push] + 1), x1 = xOf(E.begin[pop]), y0 = trackY(from) + (down ? SLICE : 0), y1 = trackY(to) + (down ? 0 : SLICE);
    const chosen = push === kept || pop === kept;
    context.strokeStyle = context.fillStyle = chosen ? colors.text : colors.accent;
    context.globalAlpha = chosen ? 1 : .55;
    context.lineWidth = chosen ? 1.8 : 1;
    const bend = Math.max(12, Math.min(60, (x1 - x0) / 2));
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 6, y1 - 3);
    context.lineTo(x1 - 6, y1 + 3);
    context.fill();
    context.globalAlpha = 1;
  }
}

function drawCurve(curve, k) {
  const y = curveY(k), perPixel = (view[1] - view[0]) / (width - LEFT);
  context.fillStyle = colors.grid;
  context.fillRect(LEFT, y + CURVE, width - LEFT, 1);
  const heights = [];
  let most;
  if (curve.way) {
    most = data.bus_bytes;
    for (let x = LEFT; x < width; ++x) {
      const from = cycleOf(x);
      heights.push(beats(curve.way, from, from + perPixel) / perPixel * data.bus_bytes / most);
    }
    context.fillStyle = colors[curve.way];
  } else {
    most = queueMost[curve.unit];
    const issues = issuesOf[curve.unit], starts = startsOf[curve.unit];
    for (let x = LEFT; x < width; ++x) {
      const at = cycleOf(x);
      heights.push((bound(issues.length, p => issues[p] > at) - bound(starts.length, p => starts[p] > at)) / most);
    }
    context.fillStyle = colors.accent;
  }
  context.globalAlpha = .7;
  heights.forEach((height, n) => height > 0 && context.fillRect(LEFT + n, y + CURVE - Math.min(1, height) * (CURVE - 4), 1, Math.min(1, height) * (CURVE - 4)));
  context.globalAlpha = 1;
  context.fillStyle = colors.muted;
  context.font = '11px system-ui, sans-serif';
  context.fillText(curve.way ? curve.way : curve.name, 4, y + 13);
  context.font = '10px system-ui, sans-serif';
  context.fillText(curve.way ? '≤ ' + most + ' B/cycle' : '≤ ' + most, 4, y + 25);
}

function drawRuler() {
  const target = (view[1] - view[0]) / Math.max(1, (width - LEFT) / 110);
  let step = Math.pow(10, Math.floor(Math.log10(target)));
  for (const factor of [1, 2, 5, 10]) if (step * factor >= target) { step *= factor; break; }
  step = Math.max(1, step);
  context.font = '10.5px system-ui, sans-serif';
  for (let cycle = Math.ceil(view[0] / step) * step; cycle <= view[1]; cycle += step) {
    const x = xOf(cycle);
    context.fillStyle = colors.grid;
    context.fillRect(x, RULER - 6, 1, HEIGHT - MAP - RULER);
    context.fillStyle = colors.muted;
    const label = grouped(cycle), room = context.measureText(label).width;
    if (x + room + 4 < width) context.fillText(label, x + 3, 12);
  }
}

function drawMap() {
  const y = HEIGHT - MAP;
  context.fillStyle = colors.grid;
  context.fillRect(LEFT, y + 4, width - LEFT, MAP - 8);
  const x = cycle => LEFT + cycle / total * (width - LEFT);
  ribbons.forEach((ribbon, n) => {
    context.fillStyle = colors.accent;
    context.globalAlpha = n % 2 ? .3 : .5;
    context.fillRect(x(ribbon.begin), y + 4, Math.max(.5, x(ribbon.end) - x(ribbon.begin)), MAP - 8);
  });
  context.globalAlpha = 1;
  context.strokeStyle = colors.text;
  context.lineWidth = 1.5;
  context.strokeRect(x(view[0]) + .5, y + 2.5, Math.max(3, x(view[1]) - x(view[0]) - 1), MAP - 5);
  context.fillStyle = colors.muted;
  context.font = '11px system-ui, sans-serif';
  context.fillText('all', 4, y + 17);
}

function draw() {
  const scale = devicePixelRatio || 1;
  width = Math.max(320, canvas.clientWidth);
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(HEIGHT * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(HEIGHT * scale);
    canvas.style.height = HEIGHT + 'px';
  }
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.fillStyle = colors.panel;
  context.fillRect(0, 0, width, HEIGHT);
  drawRuler();
  // Layers.
  context.font = '11px system-ui, sans-serif';
  for (let n = bound(ribbons.length, p => ribbons[p].end > view[0]); n < ribbons.length && ribbons[n].begin < view[1]; ++n) {
    const x0 = Math.max(LEFT, xOf(ribbons[n].begin)), x1 = Math.min(width, xOf(ribbons[n].end));
    context.fillStyle = colors.accent;
    context.globalAlpha = n % 2 ? .14 : .28;
    context.fillRect(x0, RULER, x1 - x0, RIBBON - 3);
    context.globalAlpha = 1;
    context.fillStyle = colors.text;
    if (x1 - x0 > 24) context.fillText(fitText(data.sources[ribbons[n].source] || '', x1 - x0 - 6), x0 + 3, RULER + 12);
  }
  context.fillStyle = colors.muted;
  context.fillText('layer', 4, RULER + 12);
  for (let unit = 0; unit < 3; ++unit) {
    drawUnit(unit);
    context.fillStyle = colors.text;
    context.font = '600 12px system-ui, sans-serif';
    context.fillText(UNITS[unit], 4, trackY(unit) + 19);
    context.fillStyle = colors.muted;
    context.font = '10px system-ui, sans-serif';
    context.fillText('waits', 4, trackY(unit) + SLICE + 9);
  }
  context.save();
  context.beginPath();
  context.rect(LEFT, RULER, width - LEFT, HEIGHT);
  context.clip();
  drawArrows();
  context.restore();
  CURVES.forEach(drawCurve);
  drawMap();
}
let pending = false;
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; draw(); });
}

function look(from, to) {
  let length = Math.min(Math.max(1, total), Math.max(8, to - from));
  from = Math.min(Math.max(0, from), Math.max(1, total) - length);
  view = [from, from + length];
  redraw();
}
function zoom(factor, at) {
  look(at - (at - view[0]) * factor, at + (view[1] - at) * factor);
}
function sliceAt(x, y) {
  for (let unit = 0; unit < 3; ++unit) {
    if (y < trackY(unit) || y > trackY(unit) + SLICE + 2 + WAIT || x < LEFT) continue;
    const cycle = cycleOf(x), list = byUnit[unit], k = bound(list.length, p => E.end[list[p]] + 1 > cycle);
    if (k < list.length && E.idle[list[k]] <= cycle) return list[k];
  }
  return -1;
}
function place(event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}
let drag = null;
canvas.addEventListener('wheel', event => {
  event.preventDefault();
  const [x] = place(event);
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    const move = event.deltaX * (view[1] - view[0]) / (width - LEFT);
    look(view[0] + move, view[1] + move);
  } else {
    zoom(Math.exp(Math.max(-80, Math.min(80, event.deltaY)) * .006), cycleOf(Math.max(LEFT, x)));
  }
}, {passive: false});
canvas.addEventListener('pointerdown', event => {
  const [x, y] = place(event);
  drag = {x, y, view: view.slice(), moved: false, map: y > HEIGHT - MAP};
  canvas.setPointerCapture(event.pointerId);
  if (drag.map) center(x);
});
function center(x) {
  const middle = (x - LEFT) / (width - LEFT) * total, half = (view[1] - view[0]) / 2;
  look(middle - half, middle + half);
}
canvas.addEventListener('pointermove', event => {
  const [x, y] = place(event);
  if (drag) {
    if (Math.abs(x - drag.x) > 3) drag.moved = true;
    if (drag.map) return center(x);
    if (!drag.moved) return;
    canvas.classList.add('moving');
    const move = (drag.x - x) * (drag.view[1] - drag.view[0]) / (width - LEFT);
    return look(drag.view[0] + move, drag.view[1] + move);
  }
  const at = sliceAt(x, y);
  if (at !== hovered) {
    hovered = at;
    redraw();
  }
  if (at >= 0) showTip(event, ...about(at)); else hideTip();
});
canvas.addEventListener('pointerup', event => {
  const [x, y] = place(event);
  if (drag && !drag.moved && !drag.map) keep(sliceAt(x, y));
  drag = null;
  canvas.classList.remove('moving');
});
canvas.addEventListener('pointerleave', () => { hovered = -1; hideTip(); redraw(); });
canvas.addEventListener('dblclick', () => look(0, total));
canvas.addEventListener('keydown', event => {
  const length = view[1] - view[0], middle = (view[0] + view[1]) / 2;
  const does = {ArrowLeft: () => look(view[0] - length / 8, view[1] - length / 8), ArrowRight: () => look(view[0] + length / 8, view[1] + length / 8),
    '+': () => zoom(.6, middle), '=': () => zoom(.6, middle), '-': () => zoom(1.6, middle), '0': () => look(0, total)}[event.key];
  if (does) { event.preventDefault(); does(); }
});
$('in').onclick = () => zoom(.5, (view[0] + view[1]) / 2);
$('out').onclick = () => zoom(2, (view[0] + view[1]) / 2);
$('all').onclick = () => look(0, total);
function keep(i) {
  kept = i;
  $('kept').hidden = i < 0;
  if (i >= 0) $('kept').replaceChildren(...about(i));
  redraw();
}

// ---- Breakdown, roofline, layers, what-if of one program. ----

function bar(parts, whole) {
  const made = element('div', {class: 'bar'});
  for (const [name, text, value] of parts) {
    if (!value) continue;
    const piece = element('div', {style: 'width:' + 100 * value / whole + '%;background:var(--' + name + ')'});
    piece.onpointermove = event => showTip(event, element('b', {}, text), list([['cycles', grouped(value)], ['share', percent(value, whole)]]));
    piece.onpointerleave = hideTip;
    made.append(piece);
  }
  return made;
}
const CLASS_TEXT = {work: 'working', interlock: 'interlock', push: 'no room for a token', pipeline: 'pipeline', token: 'a token is missing', fetch: 'no instruction', hand_over: 'hand-over',
  latency: 'memory: latency', bandwidth: 'memory: bandwidth', row_miss: 'memory: row miss', refresh: 'memory: refresh', full: 'memory: accepts no more bursts', arbitration: 'memory: another unit is served first',
  memory: 'memory', issue: 'issuing', queue_full: 'a command queue is full', done: 'all is issued'};

function showUnits(program) {
  const rows = UNITS.map(unit => {
    const classes = program.classes[unit];
    const parts = [];
    for (const name of Object.keys(classes)) {
      if (name === 'memory' && program.waits) for (const cause of MEMORY) parts.push([cause, CLASS_TEXT[cause], program.waits[unit][cause]]);
      else parts.push([name, CLASS_TEXT[name], classes[name]]);
    }
    return [unit, parts, percent(classes.work, program.whole.cycles)];
  });
  if (program.fetch) {
    const parts = [['issue', CLASS_TEXT.issue, program.fetch.issue]];
    for (const cause of MEMORY) parts.push([cause, CLASS_TEXT[cause], program.fetch.memory[cause]]);
    for (const unit of UNITS) parts.push(['queue_full', 'the ' + unit + ' queue is full', program.fetch.queue_full[unit]]);
    parts.push(['done', CLASS_TEXT.done, program.fetch.done]);
    rows.push(['fetch', parts, percent(program.fetch.issue, program.whole.cycles)]);
  }
  $('units').replaceChildren(...rows.map(([name, parts, work]) => element('div', {class: 'unit'}, element('span', {}, name), bar(parts, program.whole.cycles), element('span', {title: 'working'}, work))));
  const names = ['work', 'interlock', ...(program.waits ? MEMORY : ['memory']), 'push', 'pipeline', 'token', 'fetch', 'hand_over', ...(program.fetch ? ['queue_full'] : [])];
  legend('classes', names.map(name => [name, CLASS_TEXT[name]]));
}

function showBounds(program) {
  const bounds = program.whole.bounds, cycles = program.whole.cycles;
  const row = (name, parts, sum) => element('div', {class: 'unit'}, element('span', {}, name), bar(parts, Math.max(cycles, sum)), element('span', {title: 'of the cycles'}, percent(sum, cycles)));
  $('bounds').replaceChildren(row('compute', [['gemm', 'GEMM, one step per cycle', bounds.gemm], ['alu', 'ALU, one step per cycle', bounds.alu]], bounds.compute),
    row('read', [['read', 'bytes read, at the peak rate', bounds.dram_read]], bounds.dram_read), row('write', [['written', 'bytes written, at the peak rate', bounds.dram_write]], bounds.dram_write),
    ...(bounds.dram > Math.max(bounds.dram_read, bounds.dram_write) ? [row('both', [['read', 'bytes read and written, at the peak rate that they share', bounds.dram]], bounds.dram)] : []));
}

const SVG = 'http://www.w3.org/2000/svg';
function drawn(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}
// The share of a part's multiplications that are the model's, not those of padding; 1: not known.
const ownShare = part => part.useful_macs === null ? 1 : part.useful_macs / part.macs;

// Rectangles on the diagram that text must not cover: [left, top, right, bottom].
const overlaps = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

function showRoofline(program) {
  const svg = $('roofline'), w = Math.max(300, svg.getBoundingClientRect().width), h = 330, left = 46, bottom = 30, top = 14, right = 12;
  svg.replaceChildren();
  svg.setAttribute('viewBox', '0 0 ' + w + ' ' + h);
  const peak = program.peak_macs_per_cycle, slope = program.peak_bytes_per_cycle, ridge = peak / slope;
  // A part without multiplications of the model, such as an addition, is where its executed ones are.
  const points = [...program.layers, program.whole].filter(part => part.macs > 0 && part.cycles > 0 && part.macs_per_byte > 0)
    .map(part => ({part, whole: part === program.whole, own: ownShare(part), shown: ownShare(part) || 1}))
    .map(point => ({...point, perByte: point.part.macs_per_byte * point.shown, perCycle: point.part.macs_per_cycle * point.shown}));
  const xs = points.flatMap(p => [p.perByte, p.part.macs_per_byte]).concat(ridge), ys = points.map(p => p.perCycle).concat(peak);
  // The axes end at 1, 2 or 5 times a power of ten.
  const marks = [];
  for (let power = -6; power <= 9; ++power) for (const factor of [1, 2, 5]) marks.push(factor * Math.pow(10, power));
  const below = values => marks.filter(mark => mark <= Math.min(...values) / 1.3).pop(), above = values => marks.find(mark => mark >= Math.max(...values) * 1.3);
  const x0 = below(xs), x1 = above(xs), y0 = below(ys), y1 = above(ys);
  const x = value => left + Math.log(value / x0) / Math.log(x1 / x0) * (w - left - right);
  const y = value => h - bottom - Math.log(value / y0) / Math.log(y1 / y0) * (h - bottom - top);
  const label = value => value >= 1 ? grouped(value) : String(+value.toPrecision(1));
  let last = -Infinity;
  for (const value of marks) {
    if (value >= x0 && value <= x1) {
      svg.append(drawn('line', {x1: x(value), x2: x(value), y1: top, y2: h - bottom, stroke: 'var(--grid)'}));
      if (x(value) - last > 34) svg.append(drawn('text', {x: last = x(value), y: h - bottom + 15, 'text-anchor': 'middle'}, label(value)));
    }
    if (value >= y0 && value <= y1)
      svg.append(drawn('line', {x1: left, x2: w - right, y1: y(value), y2: y(value), stroke: 'var(--grid)'}), drawn('text', {x: left - 6, y: y(value) + 4, 'text-anchor': 'end'}, label(value)));
  }
  svg.append(drawn('text', {x: w - right, y: h - 2, 'text-anchor': 'end'}, 'multiplications per byte of DRAM'));
  const foot = Math.max(x0, y0 / slope), roof = value => Math.min(peak, value * slope);
  svg.append(drawn('polyline', {points: [[foot, foot * slope], [ridge, peak], [x1, peak]].map(([a, b]) => x(a) + ',' + y(b)).join(' '), fill: 'none', stroke: 'var(--text)', 'stroke-width': 1.6}));
  const taken = [];
  // Writes a text where nothing is yet, at the first of the places [x, y, anchor], and returns whether there is one.
  const write = (text, places, kind) => {
    for (const [at, base, anchor] of places) {
      const width = text.length * 6.1, from = anchor === 'end' ? at - width : anchor === 'middle' ? at - width / 2 : at, box = [from, base - 10, from + width, base + 3];
      if (box[0] < left || box[2] > w || box[1] < 0 || box[3] > h - bottom || taken.some(other => overlaps(box, other))) continue;
      taken.push(box);
      svg.append(drawn('text', {x: at, y: base, class: kind, 'text-anchor': anchor}, text));
      return true;
    }
    return false;
  };
  points.sort((a, b) => a.whole - b.whole || b.part.cycles - a.part.cycles);
  for (const point of points) {
    const {part, whole, own} = point, cx = x(point.perByte), cy = y(point.perCycle), tint = whole ? 'var(--store)' : 'var(--accent)';
    const radius = point.radius = whole ? 7 : 3 + 9 * Math.sqrt(part.cycles / program.whole.cycles);
    // With the multiplications of padding, both coordinates grow by the same factor.
    if (own > 0 && own < 0.98) {
      const ex = x(part.macs_per_byte), ey = y(part.macs_per_cycle);
      svg.append(drawn('line', {x1: cx, y1: cy, x2: ex, y2: ey, stroke: tint, 'stroke-opacity': .5}), drawn('circle', {cx: ex, cy: ey, r: radius / 2, fill: 'none', stroke: tint}));
    }
    const mark = drawn('circle', {cx, cy, r: radius, fill: tint, 'fill-opacity': own === 0 ? 0 : whole ? 1 : .55, stroke: own === 0 ? tint : 'var(--panel)'});
    mark.onpointermove = event => showTip(event, element('b', {}, whole ? 'the whole program' : part.name), list([['of the model', usefulTexts(part, program).join(', ')], ['per byte', point.perByte.toFixed(2)],
      ['with padding', part.macs_per_cycle.toFixed(1) + ' a cycle, ' + part.macs_per_byte.toFixed(2) + ' per byte'], ['of the roof', percent(point.perCycle, roof(point.perByte))], ['cycles', grouped(part.cycles)],
      ['tightest bound', part.bounds.tightest + ', ' + percent(part.of_tightest_bound, 1)]]));
    mark.onpointerleave = hideTip;
    svg.append(mark);
    taken.push([cx - radius * .7, cy - radius * .7, cx + radius * .7, cy + radius * .7]);
  }
  write(grouped(peak) + ' per cycle', [[w - right, y(peak) - 6, 'end'], [x(ridge) + 4, y(peak) - 6, 'start']], '');
  for (const part of [.25, .5, .1, .75]) {
    const at = Math.exp(Math.log(foot) + part * (Math.log(ridge) - Math.log(foot)));
    if (write(program.peak_rate, [[x(at) + 10, y(at * slope) + 14, 'start'], [x(at) - 10, y(at * slope) - 6, 'end']], '')) break;
  }
  // As many names as there is room for, those of the longest layers first.
  for (const {part, whole, perByte, perCycle, radius} of [points[points.length - 1], ...points.slice(0, -1)]) {
    const name = whole ? 'all' : part.name.length > 24 ? part.name.slice(0, 23) + '…' : part.name, cx = x(perByte), cy = y(perCycle), beyond = radius + 4;
    write(name, [[cx + beyond, cy + 4, 'start'], [cx - beyond, cy + 4, 'end'], [cx, cy - beyond, 'middle'], [cx, cy + beyond + 8, 'middle']], 'name');
  }
  legend('rooflegend', [['accent', 'a layer, multiplications of the model; the area grows with its cycles'], ['store', 'the whole program']]);
  if (points.some(({own}) => own < 0.98)) $('rooflegend').append(element('span', {}, element('i', {class: 'ring'}), 'with those of padding, additions and poolings'));
}

// The model's own multiplications, without those of padding: per cycle, and as a share of the hardware's peak.
function usefulTexts(part, program) {
  return part.useful_macs === null ? ['–', '–'] : [part.useful_macs_per_cycle.toFixed(1), percent(part.useful_macs_per_cycle, program.peak_macs_per_cycle)];
}

function layerParts(part, unit) {
  const time = part.units[unit], memory = time.memory;
  const parts = [];
  let inside = 0;
  if (memory) for (const cause of MEMORY) inside += memory[cause];
  parts.push(['busy', 'busy', time.busy - inside]);
  if (memory) for (const cause of MEMORY) parts.push([cause, CLASS_TEXT[cause], memory[cause]]);
  const from = TOKEN_FROM[unit];
  parts.push(['token_prev', 'token of ' + from[0], time.waiting.token_prev], ['token_next', 'token of ' + from[1], time.waiting.token_next], ['drain', 'the pipe drains', time.waiting.drain],
    ['unit', 'the unit is busy', time.waiting.unit], ['fetch', 'no instruction', time.waiting.fetch], ['none', 'hand-over', time.waiting.none]);
  return parts;
}
function showLayers(program) {
  const head = element('thead', {}, element('tr', {}, ...LAYER_COLUMNS.map((text, n) => element('th', {class: n === 3 ? 'left' : ''}, text))));
  const body = element('tbody');
  for (const part of program.layers) {
    const cell = element('td', {class: 'wide'}, bar(layerParts(part, 'compute'), Math.max(1, part.cycles)));
    const row = element('tr', {}, element('td', {}, part.name || '(none)'), ...[grouped(part.cycles), percent(part.cycles, program.whole.cycles)].map(text => element('td', {}, text)), cell,
      ...[compact(part.macs), part.macs_per_cycle.toFixed(1), part.bounds.tightest, percent(part.of_tightest_bound, 1), ...usefulTexts(part, program)].map(text => element('td', {}, text)));
    row.onclick = () => {
      const source = data.sources.indexOf(part.name), runs = ribbons.filter(ribbon => ribbon.source === source);
      if (!runs.length) return;
      const begin = runs[0].begin, end = runs[runs.length - 1].end;
      look(begin - (end - begin) * .03, end + (end - begin) * .03);
      canvas.scrollIntoView({behavior: 'smooth', block: 'center'});
    };
    body.append(row);
  }
  $('layers').replaceChildren(head, body);
  legend('layerlegend', [['busy', 'busy'], ...(program.waits ? MEMORY.map(name => [name, CLASS_TEXT[name]]) : []), ['token_prev', 'token of load'], ['token_next', 'token of store'], ['drain', 'the pipe drains'],
    ['unit', 'the unit is busy'], ['fetch', 'no instruction']]);
}

function showWhatIf(program) {
  $('whatif_panel').hidden = !program.what_if.length;
  const most = Math.max(program.whole.cycles, ...program.what_if.map(answer => answer.cycles));
  const row = (text, cycles) => element('tr', {}, element('td', {}, text), element('td', {class: 'wide'}, element('div', {class: 'bar', style: 'height:14px'}, element('div', {style: 'width:' + 100 * cycles / most + '%;background:var(--work)'}))),
    element('td', {}, grouped(cycles)), element('td', {}, cycles ? (program.whole.cycles / cycles).toFixed(3) + ' ×' : '–'));
  $('whatif').replaceChildren(element('thead', {}, element('tr', {}, ...['with', '', 'cycles', 'speedup'].map(text => element('th', {}, text)))),
    element('tbody', {}, row('this hardware', program.whole.cycles), ...program.what_if.map(answer => row(answer.change, answer.cycles))));
}

// Milliseconds for the cycles of this program, and for the model with all of its programs and its steps on other devices.
const milliseconds = cycles => cycles / (data.time.clock_mhz * 1e3);
const shortNumber = value => value >= 1000 ? grouped(Math.round(value)) : String(Number(value.toPrecision(4)));
function timeCards(cycles, card) {
  if (!data.time.clock_mhz || !cycles) return [];
  const own = milliseconds(cycles), all = milliseconds(total) + (data.time.other_ms || 0);
  return [card(shortNumber(own) + ' ms', 'at ' + shortNumber(data.time.clock_mhz) + ' MHz, ' + shortNumber(1e3 / own) + ' per second'),
    ...(data.time.other_ms === null ? [] : [card(shortNumber(1e3 / all), 'inferences per second: ' + shortNumber(milliseconds(total)) + ' ms here, ' + shortNumber(data.time.other_ms) + ' ms in other steps',
      'all programs of the accelerator, and the measured steps of the model on other devices')])];
}

// Energy of all programs together; the generator of the page has only checked that it is valid JSON.
const joules = value => { const [unit, name] = [[1, 'J'], [1e-3, 'mJ'], [1e-6, 'uJ'], [1e-9, 'nJ']].find(([unit]) => value >= unit) || [1e-12, 'pJ']; return shortNumber(value / unit) + ' ' + name; };
function showEnergy() {
  const energy = data.energy;
  if (!energy || !Array.isArray(energy.parts)) return;
  $('energy_panel').hidden = false;
  $('energy_statement').textContent = joules(energy.joules) + ': ' + energy.statement;
  const cell = text => element('td', {}, text);
  $('energy').replaceChildren(element('thead', {}, element('tr', {}, ...['component', 'place', 'energy', 'share'].map(name => element('th', {}, name)))),
    element('tbody', {}, ...energy.parts.filter(part => part.joules > 0).map(part =>
      element('tr', {}, element('td', {}, part.component), element('td', {}, part.place), cell(joules(part.joules)), cell(percent(part.joules, energy.joules))))));
  $('energy_missing').textContent = energy.missing.length ? 'Not included: ' + energy.missing.join('; ') : '';
}

function showProgram(program) {
  const whole = program.whole, bounds = whole.bounds;
  const card = (value, text, more) => element('div', {class: 'card'}, element('b', {}, value), element('span', {class: 'muted', title: more || ''}, text));
  $('cards').replaceChildren(card(grouped(whole.cycles), 'cycles'), ...timeCards(whole.cycles, card), card(percent(whole.of_tightest_bound, 1), 'of the tightest bound, ' + bounds.tightest),
    ...(whole.useful_macs === null ? [] : [card(usefulTexts(whole, program)[1], 'of the peak, ' + compact(whole.useful_macs) + ' MACs of the model', 'multiplications of the model, without those of padding')]),
    card(percent(whole.macs_per_cycle, program.peak_macs_per_cycle), 'of the multipliers, ' + compact(whole.macs) + ' MACs executed'),
    card(bytesText(whole.bytes_read), 'read, ' + bytesText(whole.bytes_written) + ' written'),
    card(grouped(program.instructions), 'instructions'));
  showUnits(program);
  showBounds(program);
  showRoofline(program);
  showLayers(program);
  showWhatIf(program);
}

$('title').textContent = data.title;
$('subtitle').textContent = [...new Set(data.programs.map(program => program.hardware))].join(', ') + (data.time.clock_mhz ? ' · ' + shortNumber(data.time.clock_mhz) + ' MHz' : '') + ' · memory ' + data.memory;
legend('kinds', KINDS.filter((name, k) => E.kind.includes(k)).map(name => [name, KIND_TEXT[name]]));
legend('causes', [['token_prev', 'waits for a token of the unit above'], ['token_next', 'of the unit below'], ['fetch', 'to be fetched'], ['unit', 'for its unit'], ['drain', 'for the pipeline to drain'],
  ...(waits.size ? MEMORY.map(name => [name, CLASS_TEXT[name]]) : [])]);
if (data.programs.length > 1) {
  $('choose').hidden = false;
  data.programs.forEach((program, n) => $('program').append(element('option', {value: n}, program.name)));
  $('program').onchange = () => showProgram(data.programs[$('program').value]);
}
const shownProgram = () => data.programs[$('program').value || 0];
readColors();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColors(); redraw(); });
addEventListener('resize', () => { redraw(); showRoofline(shownProgram()); });
// An address that ends in #FROM-TO shows these cycles.
const asked = /^#(\d+)-(\d+)$/.exec(location.hash);
if (asked) look(Number(asked[1]), Number(asked[2]));
draw();
showProgram(shownProgram());
showEnergy();
