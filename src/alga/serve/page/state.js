"use strict";
// What is on screen, and the few words that all scripts share.

const $ = (id) => document.getElementById(id);
const SPEEDS = [0.5, 1, 2, 4, 8, 16, 40, 120, 400]; // steps a second
const KINDS = { add: "add", sub: "sub", mul: "times", divmod: "divide", cmp: "cmp" }; // the step that a network is chosen for
const NAMES = { add: "Add", sub: "Subtract", mul: "Multiply", divmod: "Divide", cmp: "Compare" };
const said = (number) => number.toLocaleString("en");

const from = source();
const state = {
  problems: [], // of one calculation, in order; each with its steps
  steps: [], // of all problems, in order: { problem, index, ...step }
  done: 0, playing: false, run: 0, shownModel: null, hurt: null, telling: null, healthy: new Map(), insides: new Map(), catalogue: null,
};
