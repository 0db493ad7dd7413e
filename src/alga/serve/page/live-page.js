"use strict";
// The sections that compute in this browser: each is filled when it comes near the screen, so the first sum need not wait.

const live = { sections: {}, networks: new Map() }; // mounted sections by id; descriptions of networks by name

live.later = () => (live.parsed ??= JSON.parse($("alga-later").textContent)); // of a single file

live.network = (name) => {
  if (!live.networks.has(name)) {
    const found = from.embedded ? Promise.resolve(live.later().live[name]) : asked(query("v1/network", { model: name })).then((answer) => answer.json());
    live.networks.set(name, found);
    found.catch(() => live.networks.delete(name)); // asked again next time
  }
  return live.networks.get(name);
};

// In a single file the data of these sections comes last.
live.ready = new Promise((resolve) => { if (document.readyState === "loading") addEventListener("DOMContentLoaded", resolve); else resolve(); });

live.near = (element, begin) => {
  const watching = new IntersectionObserver((seen) => {
    if (!seen.some((entry) => entry.isIntersecting)) return;
    watching.disconnect();
    live.ready.then(begin);
  }, { rootMargin: "400px" });
  watching.observe(element);
};

live.near($("run-here"), async () => {
  let offered = ["addition", "smallest"], first = offered[0];
  if (from.embedded) [offered, first] = [Object.keys(live.later().live), from.content.domain.model];
  else {
    const catalogue = state.catalogue ?? await from.models().catch(() => null); // too busy: the two that always ship
    if (catalogue) [offered, first] = [catalogue.models.filter((model) => model.engine !== "whole").map((model) => model.name), catalogue.first];
  }
  live.sections.run = mountLive($("run-here"), { networks: offered, network: live.network, checker: new Checker() });
  await live.sections.run.open(offered.includes(first) ? first : offered[0]);
});

live.near($("smallest"), () => {
  live.sections.smallest = mountSmallest($("smallest"), { network: live.network, checker: new Checker() });
  return live.sections.smallest.open();
});

live.near($("learn"), () => {
  const recorded = async () => (from.embedded ? live.later().learned : (await asked("learned.json")).json());
  live.sections.learn = mountLearn($("learn"), { recorded });
  return live.sections.learn.open();
});

live.near($("train-here"), () => { live.sections.train = mountTrainHere($("train-here"), { newWorker: Checker.newWorker }); });
