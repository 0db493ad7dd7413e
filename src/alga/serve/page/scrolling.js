"use strict";
// Which chapter of the tour is on screen, and how to get from one to the next: by scrolling, links or keys.

const chapterPlaces = () => [$("hero"), ...document.querySelectorAll(".chapter")];

// The chapter at the line that the visitor reads; on a phone the stage covers the upper part, unless it is too low for that.
function chapterHere() {
  const covers = innerWidth < 900 && getComputedStyle($("stage")).position === "sticky", line = innerHeight * (covers ? 0.8 : 0.55);
  if (covers && $("stage").getBoundingClientRect().top > 1) return 0; // the claim is still above it
  let found = 0;
  chapterPlaces().forEach((place, i) => { if (place.checkVisibility() && place.getBoundingClientRect().top <= line) found = i; });
  return found;
}

const storyOnScreen = () => $("story").getBoundingClientRect().bottom > innerHeight * 0.4;

async function arrive(number) {
  if (tour.chapter === number) return;
  tour.chapter = number;
  const turn = ++stage.turn, live = () => turn === stage.turn;
  stage.pause();
  stage.changed = null;
  $("story").dataset.chapter = number;
  $("dots").querySelectorAll("a").forEach((link, i) => (i === number ? link.setAttribute("aria-current", "step") : link.removeAttribute("aria-current")));
  chapterPlaces().forEach((place, i) => place.classList.toggle("here", i === number));
  try {
    await CHAPTERS[number](live);
    if (live()) $("story").dataset.shown = number;
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    if (!live()) return;
    says(`${sentence(problem.message)} Press play to try again.`);
    Object.assign(stage, { result: null, retry: () => { tour.chapter = -1; arrive(number); } });
  }
}

// A chapter that is only passed on the way to another does nothing.
let nearing = -1, soonThere = 0;
function follow(wait = 120) {
  const number = storyOnScreen() ? chapterHere() : tour.chapter;
  if (number === nearing) return;
  nearing = number;
  clearTimeout(soonThere);
  soonThere = setTimeout(() => {
    nearing = -1;
    if (number === tour.chapter) return;
    if (tour.chapter >= 0) address(number);
    arrive(number);
  }, wait);
}

// The address leads back to the chapter; that of a problem stays until the tour is used.
function address(number) {
  const before = location.hash, place = chapterPlaces()[number];
  if (number === 0 && !before.startsWith("#tour-")) return;
  history.replaceState(null, "", number ? `#${place.id}` : location.pathname + location.search);
}

function goToChapter(number) {
  const places = chapterPlaces(), place = places[Math.max(0, Math.min(number, places.length - 1))];
  place.scrollIntoView({ block: "start" });
  place.focus({ preventScroll: true });
}

let following = false;
function beginTour() {
  defineTerms();
  $("parts").append(...PARTS.filter(([id]) => $(id)).map(([id, text]) => make("a", { href: `#${id}`, textContent: text })));
  const more = [["smallest", "See all its numbers"], ["learn", "Watch it learn"], ["train-here", "Train one here"]].filter(([id]) => $(id));
  $("tour-more").replaceChildren(...more.map(([id, text]) => make("a", { href: `#${id}`, textContent: text, className: "button" })));
  if (!isAddition()) $("story").classList.add("no-tour"); // its sum and its words are those of decimal addition
  addEventListener("scroll", () => {
    if (following) return;
    following = true;
    requestAnimationFrame(() => { following = false; follow(); });
  }, { passive: true });
  const measure = () => $("story").style.setProperty("--stage", `${$("stage").offsetHeight}px`);
  measure();
  new ResizeObserver(measure).observe($("stage"));
  $("tour-amount").addEventListener("input", () => arriveBroken(Number($("tour-amount").value)));
  $("tour-small-one").addEventListener("click", () => again((live) => showSmall(true, live)));
  $("tour-large-one").addEventListener("click", () => again((live) => showSmall(false, live)));
  const linked = location.hash.startsWith("#tour-") && $(location.hash.slice(1));
  const settle = () => { if (linked && location.hash === `#${linked.id}`) linked.scrollIntoView({ behavior: "instant" }); }; // texts have grown
  networkOf(storyModel().name).then(claim).then(settle).catch(() => { $("claim-asked").textContent = ""; }); // said by a certificate only
  settle();
  follow(0);
  document.documentElement.classList.add("smooth"); // from here on
}

// A control of a chapter: its effect is dropped if the visitor has gone on.
function again(what) {
  const turn = ++stage.turn;
  return what(() => turn === stage.turn).catch((problem) => { if (problem instanceof Refused) says(sentence(problem.message)); else throw problem; });
}

function arriveBroken(slot) {
  tour.chapter = 5;
  return again((live) => breakIt(slot, live));
}

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches("textarea, input, select, canvas, button")) return;
  if (!inStory(event.target) || (event.key !== "ArrowRight" && event.key !== "ArrowLeft")) return;
  event.preventDefault();
  goToChapter(Math.max(0, tour.chapter) + (event.key === "ArrowRight" ? 1 : -1));
});

// Keys that are not for a control act on what is on screen: the tour, or the problem below.
const inStory = (target) => Boolean(target.closest("#story")) || (!target.closest("#workbench, footer") && storyOnScreen());
