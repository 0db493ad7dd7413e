"use strict";
// The sections that compute in this browser: each is filled when it comes near the screen, so the first sum need not wait.

const live = { sections: {}, networks: new Map() }; // mounted sections by id; descriptions of networks by name

live.network = (name) => {
  if (!live.networks.has(name)) {
    const found = from.embedded ? Promise.resolve(from.content.live[name]) : asked(query("v1/network", { model: name })).then((answer) => answer.json());
    live.networks.set(name, found);
    found.catch(() => live.networks.delete(name)); // asked again next time
  }
  return live.networks.get(name);
};

live.near = (element, begin) => {
  const watching = new IntersectionObserver((seen) => {
    if (!seen.some((entry) => entry.isIntersecting)) return;
    watching.disconnect();
    begin();
  }, { rootMargin: "400px" });
  watching.observe(element);
};

live.near($("run-here"), async () => {
  let offered = ["addition", "smallest"], first = offered[0];
  if (from.embedded) [offered, first] = [Object.keys(from.content.live), from.content.domain.model];
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
  const recorded = async () => (from.embedded ? from.content.learned : (await asked("learned.json")).json());
  live.sections.learn = mountLearn($("learn"), { recorded });
  return live.sections.learn.open();
});

live.near($("train-here"), () => { live.sections.train = mountTrainHere($("train-here"), { newWorker: Checker.newWorker }); });
