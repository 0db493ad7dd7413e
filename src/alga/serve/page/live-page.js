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
  const first = from.embedded ? from.content.domain.model : (state.catalogue ?? await from.models()).first;
  const offered = from.embedded ? Object.keys(from.content.live) : (state.catalogue ?? await from.models()).models.filter((model) => model.engine !== "whole").map((model) => model.name);
  live.sections.run = mountLive($("run-here"), { networks: offered, network: live.network, checker: new Checker() });
  await live.sections.run.open(offered.includes(first) ? first : offered[0]);
});

live.near($("smallest"), () => {
  live.sections.smallest = mountSmallest($("smallest"), { network: live.network, checker: new Checker() });
  return live.sections.smallest.open();
});
