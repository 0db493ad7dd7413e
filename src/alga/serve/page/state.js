"use strict";
// What is on screen: one result, from which everything is drawn. A new result replaces it as a whole.

const $ = (id) => document.getElementById(id);
const SPEEDS = [0.5, 1, 2, 4, 8, 16, 40, 120, 400]; // steps a second
const QUICK = 4; // faster steps are not announced to screen readers
const OPERATIONS = { // kind: the kind of step a network is chosen for; network: the shipped one used by default
  add: { name: "Add", sign: "+", kind: "add", network: "addition", carries: true },
  sub: { name: "Subtract", sign: "−", kind: "sub", network: "subtraction", carries: true },
  mul: { name: "Multiply", sign: "×", kind: "times", network: "times-a-digit" },
  divmod: { name: "Divide", sign: "÷", kind: "divide", network: "division-by-a-digit" },
  cmp: { name: "Compare", sign: "?", kind: "cmp", network: "comparison" },
};
const said = (number) => number.toLocaleString("en");
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

// One problem and everything that was computed for it.
class Result {
  error = ""; // why there is no answer
  answer = null;
  note = ""; // why there are no steps, or not all
  traced; // the answer that the steps lead to
  problems = []; // in order, each with its steps
  steps = []; // of all problems, in order: { ...step, problem, index, bad }
  done = 0; // steps
  damage = null; // the report on the damaged copy
  refused = ""; // why no weight was changed
  quiet = false; // shown without changing the address

  constructor(request, hurt, wanted, refused) {
    Object.assign(this, { request, hurt, wanted, refused });
  }

  begin(problem) {
    this.problems.push({ ...problem, steps: [], after: "", wrongFrom: Infinity });
  }

  take(step) {
    const problem = this.problems.at(-1), index = problem.steps.length, bad = step.text !== step.expected;
    if (bad) problem.wrongFrom = Math.min(problem.wrongFrom, index);
    problem.steps.push(step);
    this.steps.push({ ...step, problem, index, bad });
    this.done = Math.min(this.wanted, this.steps.length);
  }

  refuse(message) {
    Object.assign(this, { error: sentence(message), answer: null, note: "", problems: [], steps: [], done: 0 });
  }

  get step() { return this.steps[this.done - 1]; }
  get problem() { return this.step?.problem ?? this.problems[0]; }
  get answeredBy() { return !this.answer?.model ? [] : this.answer.model === this.request.model ? [this.request.model] : this.answer.model.split(", "); }
  // The network on screen: that of the current step; without steps, the one that answered or would have.
  get network() { return this.problem?.model ?? this.answeredBy[0] ?? this.request.network; }
  get hurtHere() { return this.hurt?.model === this.network ? this.hurt : null; }
}

const from = source();
const state = {
  catalogue: null,
  result: null, // on screen
  asked: 0, // the number of the latest question; answers to earlier ones are dropped
  hurt: null, // the damage in the latest question
  playing: false,
  paper: "long", // the view of a problem that is made of many
  networks: new Map(), // by name: { domain, certificate, weights }
  insides: new Map(), looking: null, fetching: false,
  opened: null, // the step whose inside was opened last; the result if it has no steps
};
