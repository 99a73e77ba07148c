"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
const make = (tag, text, kind) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
};
const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const number = value => {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 1e-3) return value.toExponential(2);
  if (size >= 1e9) return +(value / 1e9).toPrecision(4) + " G";
  if (size >= 1e6) return +(value / 1e6).toPrecision(4) + " M";
  return size >= 1000 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(4));
};

// The objectives, then the power, then all other metrics.
const metrics = data.objectives.map(objective => [objective.key, objective.title]);
const others = data.metrics.filter(({key}) => !data.objectives.some(objective => objective.key === key));
metrics.push(...others.filter(({key}) => key === "power_w").map(({key, title}) => [key, title]));
const shownMetrics = metrics.length;
metrics.push(...others.filter(({key}) => key !== "power_w").map(({key, title}) => [key, title]));
const titleOf = Object.fromEntries(metrics);
// Whether more is better: 1 where less is, else -1.
const signOf = Object.fromEntries(metrics.map(([key]) =>
  [key, [...data.objectives, ...data.metrics].find(one => one.key === key).larger ? -1 : 1]));
const parameters = data.axes.flatMap(axis => Object.keys(axis.choices[0]));
// In the order of their numbers; choices that are not numbers in that of the space.
const choicesOf = Object.fromEntries(parameters.map(name => {
  const all = [...new Set(data.axes.flatMap(axis => axis.choices.filter(choice => name in choice).map(choice => JSON.stringify(choice[name]))))];
  return [name, all.some(text => typeof JSON.parse(text) !== "number") ? all : all.sort((a, b) => JSON.parse(a) - JSON.parse(b))];
}));
const measured = data.points.map((point, index) => ({...point, index})).filter(point => point.state === "measured");
const frontOf = new Map(data.front.map(row => [row.point, row]));
const isFront = point => frontOf.has(point.index);
// Choices that points must have, and the least and the most of metrics.
let kept = measured.find(isFront), filters = {}, limits = {};
const passes = point => Object.entries(filters).every(([name, value]) => JSON.stringify(point.chosen[name]) === value) &&
  Object.entries(limits).every(([key, {least, most}]) => !(point.values[key] < least) && !(point.values[key] > most));

const fill = (select, rows, value) => {
  for (const [key, title] of rows) select.append(new Option(title, key, false, key === value));
  select.addEventListener("change", drawAll);
};
// The first two objectives; a single one is shown through latency and energy.
const shownFirst = data.objectives.length > 1 ? data.objectives.map(objective => objective.key) : ["latency_ms", "energy_mj"];
fill(byId("across"), metrics, shownFirst[0]);
fill(byId("up"), metrics, shownFirst[1]);
fill(byId("color"), [["", "front"], ...parameters.map(name => [name, name])], "");
byId("logarithmic").addEventListener("change", drawAll);
fill(byId("limited"), metrics, data.objectives[0].key);
const limit = () => {
  const given = id => byId(id).value.trim() === "" ? undefined : Number(byId(id).value);
  limits[byId("limited").value] = {least: given("least"), most: given("most")};
  drawAll();
};
for (const id of ["least", "most"]) byId(id).addEventListener("input", limit);
byId("limited").addEventListener("change", () => {
  const {least, most} = limits[byId("limited").value] || {};
  byId("least").value = least ?? "";
  byId("most").value = most ?? "";
});
byId("free").addEventListener("click", () => {
  filters = {}; limits = {};
  byId("least").value = byId("most").value = "";
  drawAll();
});
// The constraints as text, and how many points satisfy them.
function drawLimits() {
  const texts = Object.entries(limits).flatMap(([key, {least, most}]) =>
    [...(least === undefined ? [] : [`${titleOf[key]} ≥ ${number(least)}`]), ...(most === undefined ? [] : [`${titleOf[key]} ≤ ${number(most)}`])]);
  texts.push(...Object.entries(filters).map(([name, value]) => `${name} = ${JSON.parse(value)}`));
  const left = measured.filter(passes).length;
  byId("limits").textContent = texts.length ? `${texts.join(", ")}: ${left.toLocaleString("en")} of ${measured.length.toLocaleString("en")} points` : "";
  byId("free").hidden = !texts.length;
}

// Of a choice of a parameter, from the first to the last.
const shade = (name, value) => {
  const all = choicesOf[name], at = all.indexOf(JSON.stringify(value));
  return `hsl(${all.length < 2 ? 210 : 210 + 150 * at / (all.length - 1)} 62% ${matchMedia("(prefers-color-scheme: dark)").matches ? 62 : 46}%)`;
};

function prepare(canvas) {
  const scale = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "11px system-ui, sans-serif";
  return {pen, width, height};
}

// From values to pixels, with the values worth a mark.
function axis(values, from, to, logarithmic) {
  let low = Math.min(...values), high = Math.max(...values);
  const log = logarithmic && low > 0;
  if (log) { low = Math.log10(low); high = Math.log10(high); }
  const margin = (high - low || Math.abs(high) || 1) * 0.06;
  low -= margin;
  high += margin;
  const at = value => from + (to - from) * ((log ? Math.log10(value) : value) - low) / (high - low);
  const marks = [];
  if (log) {
    for (let power = Math.floor(low); power <= high; ++power)
      for (const digit of high - low > 2.5 ? [1] : high - low > 1 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]) {
        const mark = digit * 10 ** power;
        if (Math.log10(mark) >= low && Math.log10(mark) <= high) marks.push(mark);
      }
  } else {
    const rough = (high - low) / 6, unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(factor => factor * unit).find(each => each >= rough);
    for (let mark = Math.ceil(low / step) * step; mark <= high; mark += step) marks.push(+mark.toPrecision(12));
  }
  return {at, marks};
}

let places = [];
function drawScatter() {
  const across = byId("across").value, up = byId("up").value, by = byId("color").value, log = byId("logarithmic").checked;
  const {pen, width, height} = prepare(byId("scatter"));
  places = [];
  if (!measured.length) return;
  const left = 62, right = width - 10, top = 10, bottom = height - 38;
  const x = axis(measured.map(point => point.values[across]), left, right, log);
  const y = axis(measured.map(point => point.values[up]), bottom, top, log);
  pen.strokeStyle = color("--line");
  pen.fillStyle = color("--muted");
  pen.lineWidth = 1;
  let last = -Infinity;
  for (const mark of x.marks) {
    const at = x.at(mark);
    pen.beginPath(); pen.moveTo(at, top); pen.lineTo(at, bottom); pen.stroke();
    const text = number(mark);
    if (at - last < pen.measureText(text).width + 10) continue;
    pen.textAlign = "center"; pen.fillText(text, at, bottom + 14);
    last = at;
  }
  last = Infinity;
  for (const mark of y.marks) {
    const at = y.at(mark);
    pen.beginPath(); pen.moveTo(left, at); pen.lineTo(right, at); pen.stroke();
    if (last - at < 13) continue;
    pen.textAlign = "right"; pen.fillText(number(mark), left - 6, at + 4);
    last = at;
  }
  pen.textAlign = "right"; pen.fillText(titleOf[across], right, height - 6);
  pen.save(); pen.translate(12, top); pen.rotate(-Math.PI / 2); pen.textAlign = "right"; pen.fillText(titleOf[up], 0, 0); pen.restore();

  // The front of these two alone, as a staircase.
  const costs = point => [signOf[across] * point.values[across], signOf[up] * point.values[up]];
  const order = measured.filter(passes).map(point => [point, ...costs(point)]).sort((a, b) => a[1] - b[1] || a[2] - b[2]);
  let least = Infinity;
  const steps = order.filter(([, , cost]) => cost < least && ((least = cost), true)).map(([point]) => point);
  pen.strokeStyle = color("--front");
  pen.globalAlpha = 0.55;
  pen.beginPath();
  steps.forEach((point, i) => {
    const px = x.at(point.values[across]), py = y.at(point.values[up]);
    if (i === 0) pen.moveTo(px, py);
    else { pen.lineTo(px, y.at(steps[i - 1].values[up])); pen.lineTo(px, py); }
  });
  pen.stroke();
  for (const point of [...measured].sort((a, b) => isFront(a) - isFront(b))) {
    const px = x.at(point.values[across]), py = y.at(point.values[up]), front = isFront(point), visible = passes(point);
    pen.globalAlpha = visible ? (front ? 1 : 0.6) : 0.08;
    pen.fillStyle = by ? shade(by, point.chosen[by]) : color(front ? "--front" : "--point");
    pen.beginPath(); pen.arc(px, py, front ? 4.5 : 3, 0, 7); pen.fill();
    if (by && front) { pen.strokeStyle = color("--text"); pen.stroke(); }
    if (visible) places.push([px, py, point]);
  }
  pen.globalAlpha = 1;
  if (kept) {
    pen.strokeStyle = color("--kept"); pen.lineWidth = 2;
    pen.beginPath(); pen.arc(x.at(kept.values[across]), y.at(kept.values[up]), 8, 0, 7); pen.stroke();
  }
  const legend = byId("legend");
  legend.replaceChildren();
  const entry = (text, fillStyle) => {
    const item = make("span"), dot = make("i");
    dot.style.background = fillStyle;
    item.append(dot, text);
    legend.append(item);
  };
  if (by) for (const value of choicesOf[by]) entry(`${by} ${JSON.parse(value)}`, shade(by, JSON.parse(value)));
  else { entry("on the front of all objectives", color("--front")); entry("beaten by another point", color("--point")); }
}

const nearest = event => {
  const box = byId("scatter").getBoundingClientRect();
  let best, least = 15 ** 2;
  for (const [px, py, point] of places) {
    const distance = (px - (event.clientX - box.left)) ** 2 + (py - (event.clientY - box.top)) ** 2;
    if (distance < least) { least = distance; best = point; }
  }
  return best;
};
byId("scatter").addEventListener("pointermove", event => {
  const point = nearest(event), hover = byId("hover");
  hover.hidden = !point;
  if (!point) return;
  hover.replaceChildren(make("div", parameters.map(name => `${name} ${point.chosen[name]}`).join(" · ")),
    make("div", metrics.slice(0, shownMetrics).map(([key]) => `${titleOf[key].split(",")[0]} ${number(point.values[key])}`).join(" · "), "muted"));
  hover.style.left = Math.max(0, Math.min(event.clientX + 14, innerWidth - 310)) + "px";
  hover.style.top = event.clientY + 14 + "px";
});
byId("scatter").addEventListener("pointerleave", () => { byId("hover").hidden = true; });
byId("scatter").addEventListener("click", event => keep(nearest(event) || kept));
function keep(point) {
  kept = point;
  drawAll();
}

function table(head, rows, onClick) {
  const scroll = make("div", undefined, "scroll"), element = make("table"), top = make("thead"), body = make("tbody");
  const line = make("tr");
  for (const text of head) line.append(make("th", text));
  top.append(line);
  rows.forEach((cells, i) => {
    const row = make("tr");
    for (const value of cells) {
      const one = value instanceof Node ? make("td", undefined, value.className === "bar" ? "bars" : "") : make("td", value);
      if (value instanceof Node) one.append(value);
      row.append(one);
    }
    if (onClick) { row.className = "link"; row.addEventListener("click", () => onClick(i)); }
    body.append(row);
  });
  element.append(top, body);
  scroll.append(element);
  return scroll;
}

function drawChosen() {
  const panel = byId("chosen");
  panel.replaceChildren();
  const head = make("div", undefined, "head");
  head.append(make("h2", "The point that was chosen"), make("span", "click on one above", "muted"));
  panel.append(head);
  if (!kept) return;
  const row = frontOf.get(kept.index);
  panel.append(make("p", kept.machine + (row ? "; on the front" : "; beaten by another point")));
  panel.append(table([...metrics.map(([, title]) => title)], [metrics.map(([key]) => number(kept.values[key]))]));
  panel.append(table(["model", "cycles", "ms", "energy, mJ", "on chip, mJ", "MACs executed", "loaded", "stored", "values"], kept.models.map(model =>
    [model.model, model.cycles.toLocaleString("en"), number(model.milliseconds), number(model.energy_mj), number(model.chip_mj),
     number(model.executed_macs), number(model.bytes_loaded), number(model.bytes_stored), model.check || ""])));
  if (!row) return;
  panel.append(make("h3", "Done again by hand"), make("code", row.command));
  row.layers.forEach((layers, i) => {
    if (!layers.length) return;
    const most = Math.max(...layers.map(layer => layer.cycles));
    panel.append(make("h3", `Layers of ${kept.models[i].model}`));
    panel.append(table(["layer", "cycles", "", "of its bound", "own MACs a cycle", "energy, mJ"], layers.map(layer => {
      const bar = make("span", undefined, "bar");
      bar.style.width = 100 * layer.cycles / most + "%";
      return [layer.layer || "(of no layer)", layer.cycles.toLocaleString("en"), bar, layer.cycles ? (100 * layer.bound / layer.cycles).toFixed(0) + " %" : "",
              layer.cycles ? (layer.useful_macs / layer.cycles).toFixed(1) : "", number(layer.energy_mj)];
    })));
  });
}

let columns = [];
function drawParallel() {
  const {pen, width, height} = prepare(byId("parallel"));
  if (!measured.length) return;
  const keys = [...parameters, ...data.objectives.map(objective => objective.key)];
  const left = 30, right = width - 40, top = 34, bottom = height - 16;
  columns = keys.map((key, i) => {
    const x = keys.length < 2 ? left : left + (right - left) * i / (keys.length - 1);
    if (choicesOf[key]) {
      const all = choicesOf[key];
      return {key, x, choices: all, at: point => {
        const index = all.indexOf(JSON.stringify(point.chosen[key]));
        return all.length < 2 ? (top + bottom) / 2 : bottom - (bottom - top) * index / (all.length - 1);
      }};
    }
    const scale = axis(measured.map(point => point.values[key]), bottom, top, true);
    return {key, x, scale, at: point => scale.at(point.values[key])};
  });
  for (const point of [...measured].sort((a, b) => isFront(a) - isFront(b))) {
    const front = isFront(point), chosen = point === kept;
    pen.globalAlpha = chosen ? 1 : passes(point) ? (front ? 0.75 : Math.max(0.05, Math.min(0.3, 60 / measured.length))) : 0.01;
    pen.strokeStyle = color(chosen ? "--kept" : front ? "--front" : "--point");
    pen.lineWidth = chosen ? 2.5 : 1;
    pen.beginPath();
    columns.forEach((column, i) => pen[i ? "lineTo" : "moveTo"](column.x, column.at(point)));
    pen.stroke();
  }
  pen.globalAlpha = 1;
  pen.lineWidth = 1;
  columns.forEach((column, i) => {
    pen.strokeStyle = color("--line");
    pen.beginPath(); pen.moveTo(column.x, top); pen.lineTo(column.x, bottom); pen.stroke();
    pen.fillStyle = color("--text");
    pen.textAlign = i === 0 ? "left" : i === columns.length - 1 ? "right" : "center";
    pen.fillText(column.key.replace("_buffer_bytes", ""), i === 0 ? 2 : i === columns.length - 1 ? width - 2 : column.x, i % 2 ? 12 : 25);
    pen.fillStyle = color("--muted");
    pen.textAlign = "left";
    const marks = column.choices
      ? column.choices.map((text, k) => [String(JSON.parse(text)), column.choices.length < 2 ? (top + bottom) / 2 : bottom - (bottom - top) * k / (column.choices.length - 1)])
      : column.scale.marks.filter((_, k, all) => k === 0 || k === all.length - 1).map(mark => [number(mark), column.scale.at(mark)]);
    for (const [text, y] of marks) {
      const kept_value = filters[column.key] !== undefined && String(JSON.parse(filters[column.key])) === text;
      // On its own ground: lines meet here.
      pen.globalAlpha = 0.8;
      pen.fillStyle = color("--panel");
      pen.fillRect(column.x + 2, y - 6, pen.measureText(text).width + 2, 13);
      pen.globalAlpha = 1;
      pen.fillStyle = color(kept_value ? "--kept" : "--muted");
      pen.fillText(text, column.x + 3, y + 4);
    }
  });
}
byId("parallel").addEventListener("click", event => {
  const box = byId("parallel").getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const column = columns.filter(each => each.choices).sort((a, b) => Math.abs(a.x - x) - Math.abs(b.x - x))[0];
  if (!column || Math.abs(column.x - x) > 40) filters = {};
  else {
    const height = byId("parallel").clientHeight, top = 34, bottom = height - 16, count = column.choices.length;
    const index = count < 2 ? 0 : Math.round((bottom - y) / (bottom - top) * (count - 1));
    const value = column.choices[Math.max(0, Math.min(count - 1, index))];
    if (filters[column.key] === value) delete filters[column.key];
    else filters[column.key] = value;
  }
  drawAll();
});

function drawTables() {
  const steps = byId("steps");
  steps.replaceChildren();
  if (!data.steps.length) steps.append(make("p", "No two measured points differ in one parameter alone.", "muted"));
  else steps.append(table(["parameter", "from → to", ...data.objectives.map(objective => objective.title.split(",")[0]), "pairs"],
    data.steps.map(step => [step.axis, `${step.from} → ${step.to}`, ...step.factors.map((factor, i) =>
      factor === null ? "-" : make("span", factor.toFixed(3) + "×", Math.abs(factor - 1) <= 0.005 ? "" : (factor < 1) !== data.objectives[i].larger ? "less" : "more")),
      step.pairs])));
  const front = byId("front");
  front.replaceChildren();
  const shown = data.front.filter(row => passes(data.points[row.point])), rows = shown.map(row => data.points[row.point]);
  front.append(table([...parameters, ...metrics.slice(0, shownMetrics).map(([, title]) => title)], rows.map(point =>
    [...parameters.map(name => String(point.chosen[name])), ...metrics.slice(0, shownMetrics).map(([key]) => number(point.values[key]))]),
    i => { keep(measured.find(point => point.index === shown[i].point)); byId("chosen").scrollIntoView({behavior: "smooth"}); }));
}

function drawAll() {
  drawLimits();
  drawScatter();
  drawChosen();
  drawParallel();
  drawTables();
}
const count = state => data.points.filter(point => point.state === state).length.toLocaleString("en");
byId("title").textContent = "Design points for " + data.names.join(", ");
byId("subtitle").textContent = `${data.space}, ${data.strategy}: ${data.points.length.toLocaleString("en")} of ${data.size.toLocaleString("en")} points; ` +
  `${count("measured")} measured, ${count("pruned")} pruned by bounds, ${count("infeasible")} infeasible` +
  (count("failed") === "0" ? "" : `, ${count("failed")} failed`) + `; ${data.front.length} on the front`;
byId("sources").textContent = `Latency: exact cycles of the cycle simulator, without operations on the host. Area: a model of ` +
  `${data.area_error.fitted_runs} runs of Yosys, ${data.technology}; ${data.area_error.text}. ` +
  (data.extrapolated ? `Extrapolated: ${data.extrapolated}. ` : "") + `Energy: ${data.energy}.` + (data.accuracy ? ` Accuracy: ${data.accuracy}.` : "") + (data.clock ? ` Clock: ${data.clock}.` : "") + ` Values: ${data.checks}.`;
addEventListener("resize", drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
drawAll();
