"use strict";
// Long work in a worker, so that the page stays usable: the check of every prompt of a network, and training.
//
// This file is both sides. The page asks (`Checker`); in a worker there is no document, and the last lines answer.
// What is found is "checked in this browser": no certificate, which also covers rounding on other machines.

if (typeof document === "undefined" && typeof Forward === "undefined") importScripts("forward.js", "trainer.js");

const Checker = (() => {
  const PARTS = ["forward.js", "trainer.js", "checking.js"]; // of the worker
  const SLICE = 60; // milliseconds of work between two looks at the messages

  // A single file has no other file to load: the worker is made of the texts of its own scripts.
  function newWorker() {
    const own = PARTS.map((name) => document.querySelector(`script[data-file="${name}"]`)?.textContent);
    if (own.includes(undefined)) return new Worker(PARTS.at(-1));
    const address = URL.createObjectURL(new Blob(own, { type: "text/javascript" }));
    const worker = new Worker(address);
    URL.revokeObjectURL(address);
    return worker;
  }

  // Checks one set of weights at a time: a newer check replaces an unfinished one, which then returns null.
  class Checker {
    constructor() {
      this.number = 0;
      this.known = new Set(); // networks that the worker has
      this.finish = () => {};
    }

    check(description, weights, watch = () => {}) {
      this.worker ??= newWorker();
      this.finish(null);
      const number = ++this.number, { model } = description;
      return new Promise((resolve, reject) => {
        this.finish = resolve;
        this.worker.onmessage = ({ data }) => {
          if (data.number !== this.number) return;
          if (data.texts) resolve(data);
          else watch(data.done, data.wrong);
        };
        this.worker.onerror = (problem) => reject(new Error(problem.message));
        this.worker.postMessage({ number, model, weights, ...(this.known.has(model) ? {} : { description }) });
        this.known.add(model);
      });
    }
  }

  // --- the worker's side -----------------------------------------------------------------------------------------

  const descriptions = new Map();
  let latest = 0;

  async function checkAll({ number, model, weights, description }) {
    if (description) descriptions.set(model, description);
    latest = number;
    const known = descriptions.get(model), network = new Forward(known, weights);
    const texts = [], margins = new Float64Array(known.prompts.length), began = performance.now();
    let wrong = 0, least = 0, slice = began;
    for (const [i, prompt] of known.prompts.entries()) {
      const { text, margin } = network.answer(prompt);
      texts.push(text);
      margins[i] = margin;
      if (text !== `${known.outputs[i]}S`) wrong++;
      if (!(margin >= margins[least])) least = i;
      if (performance.now() - slice > SLICE) {
        postMessage({ number, done: i + 1, wrong });
        await new Promise((resolve) => setTimeout(resolve));
        if (number !== latest) return;
        slice = performance.now();
      }
    }
    postMessage({ number, texts, margins, wrong, least, seconds: (performance.now() - began) / 1000 });
  }

  async function train({ number, train: { description, seed } }) {
    latest = number;
    const began = performance.now();
    let slice = began;
    for (const report of Trainer.course(description, seed)) {
      if (performance.now() - slice < SLICE && !report.done) continue;
      postMessage({ number, ...report, seconds: (performance.now() - began) / 1000 });
      await new Promise((resolve) => setTimeout(resolve));
      if (number !== latest) return;
      slice = performance.now();
    }
    postMessage({ number, over: true });
  }

  if (typeof document === "undefined") onmessage = ({ data }) => { if (data.stop) latest = 0; else if (data.train) train(data); else checkAll(data); };
  return Object.assign(Checker, { newWorker });
})();
