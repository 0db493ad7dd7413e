"use strict";
// The grid's axes and legend: rows by carry, columns as sums, and one scale of leads for all networks.

// The place of a lead on the scale, 0 to 1: the same for every network, so that their colours can be compared.
const leadShare = (lead) => (lead === null || lead <= 0 ? 0 : Math.log(lead / LEAD.least) / Math.log(LEAD.most / LEAD.least));

// Rows of equal carry that lie together: [{ text, from, to }]; none if there are many or they are mixed.
function halvesOf({ contexts, carries, carried }) {
  const runs = [];
  if (!carries) return runs;
  contexts.forEach((context, i) => {
    if (context === null) return;
    const last = runs.at(-1);
    if (last && last.carry === carries[i] && last.to === i - 1) last.to = i;
    else runs.push({ carry: carries[i], from: i, to: i });
  });
  const few = runs.length > 1 && runs.length <= 3 && new Set(runs.map((run) => run.carry)).size === runs.length;
  return few ? runs.map((run) => ({ ...run, text: run.carry === "-" ? carried : run.carry ? `${carried} ${run.carry}` : `no ${carried}` })) : [];
}

// A column as it is said: "9+9"; a single digit stands alone.
const columnName = ({ sign }, column) => (sign && column.length === 2 ? `${column[0]}${sign}${column[1]}` : column);

function writeAxes(grid, pen, ink) {
  const { contexts, columns } = grid.domain;
  pen.fillStyle = ink;
  pen.font = "10px system-ui, sans-serif";
  const name = (context) => (context === null ? (grid.turned ? "1st" : "first") : context);
  const column = (text) => (grid.turned || grid.wide > 3 ? columnName(grid.domain, text) : text);
  const [acrossNames, downNames] = grid.turned ? [contexts.map(name), columns.map(column)] : [columns.map(column), contexts.map(name)];
  const across = (i) => grid.labels.left + (i + 0.5) * grid.wide, down = (i) => grid.labels.top + (i + 0.5) * grid.high + 3.5;
  const top = grid.labels.top - 7, room = Math.max(...acrossNames.map((text) => pen.measureText(text).width)) + 8;
  pen.textAlign = "center";
  const pairs = grid.turned ? -1 : lastPair(acrossNames), alone = pairs >= 0; // single digits follow the pairs
  for (const i of labelled(acrossNames, grid.wide, room)) if (!alone || i <= pairs) pen.fillText(acrossNames[i], across(i), top);
  if (alone) writeAlone(pen, across(acrossNames.length - 0.5), across(pairs) + pen.measureText(acrossNames[pairs]).width / 2, top);
  pen.textAlign = "right";
  for (const i of labelled(downNames, grid.high, 11)) pen.fillText(downNames[i], grid.labels.left - 5, down(i));
  pen.textAlign = "center";
  for (const half of grid.halves) writeHalf(grid, pen, half, ink);
}

// Over the columns of a single digit, up to their end, if it is clear of the label before.
function writeAlone(pen, end, taken, top) {
  const fitting = ["one digit", "one"].find((text) => end - pen.measureText(text).width > taken + 6);
  pen.textAlign = "right";
  if (fitting) pen.fillText(fitting, end, top);
}

// The place of the last pair of digits (9+9) if single digits follow; else -1.
function lastPair(names) {
  const corner = names.findLastIndex((text) => text.length > 1);
  return corner > 0 && names.length > corner + 1 ? corner : -1;
}

// Which labels have room: every so many, and the last pair of digits.
function labelled(names, size, room) {
  const skip = Math.max(1, Math.ceil(room / size)), tens = [1, 2, 5, 10, 20, 50, 100].find((step) => step >= skip) ?? skip;
  const corner = lastPair(names), chosen = names.map((_, i) => i).filter((i) => i % tens === 0);
  if (corner < 0) return chosen;
  const clear = (i) => Math.abs(i - corner) >= skip;
  return [...chosen.filter((i) => i < corner && clear(i)), corner, ...chosen.filter((i) => i > corner && i >= corner + skip)];
}

function writeHalf(grid, pen, { text, from, to }, ink) {
  const first = grid.corner({ row: from, place: 0 }), last = grid.corner({ row: to, place: 0 });
  pen.strokeStyle = pen.fillStyle = ink;
  pen.beginPath();
  if (grid.turned) {
    pen.moveTo(first[0] + 1, 12.5);
    pen.lineTo(last[0] + grid.wide - 2, 12.5);
    pen.stroke();
    return pen.fillText(text, (first[0] + last[0] + grid.wide) / 2, 9);
  }
  pen.moveTo(15.5, first[1] + 1);
  pen.lineTo(15.5, last[1] + grid.high - 2);
  pen.stroke();
  pen.save();
  pen.translate(10, (first[1] + last[1] + grid.high) / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText(text, 0, 0);
  return pen.restore();
}

// The keys beside the count: those of the mode on screen.
function drawLegend({ legend, mode }, named) {
  if (legend.box.dataset.mode === mode && legend.theme === named("--card")) return;
  Object.assign(legend, { theme: named("--card") });
  legend.box.dataset.mode = mode;
  const colour = colours(), pen = legend.scale.getContext("2d"), { width, height } = legend.scale;
  for (let x = 0; x < width; x++) {
    pen.fillStyle = colour(x / width);
    pen.fillRect(x, 0, 1, height);
  }
}

// The controls that choose how a grid is coloured: radio buttons of one group.
function offerModes(place, grid, modes) {
  place.append(...modes.map(([mode, text]) => {
    const button = make("input", { type: "radio", name: `${grid.canvas.id}-mode`, value: mode, checked: mode === grid.mode, onchange: () => grid.setMode(mode) });
    return make("label", { className: "mode" }, button, text);
  }));
  grid.canvas.dataset.mode = grid.mode;
}

function chooseMode(place, grid, mode) {
  for (const button of place.querySelectorAll("input")) button.checked = button.value === mode;
  grid.setMode(mode);
}
