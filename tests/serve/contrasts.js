// For each text on the page: the contrast of its colour with what is behind it (WCAG 2), where it stands, and the text.
() => {
  const parsed = (text) => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return { rgb: [r, g, b], a }; };
  const over = ({ rgb, a }, below) => rgb.map((value, i) => value * a + below[i] * (1 - a));
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = (rgb) => rgb.map((value) => linear(value / 255)).reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data, parentElement: element } = texts.currentNode;
    if (!data.trim() || element.closest("script, option, :disabled, [aria-disabled='true']") || !element.checkVisibility()) continue;
    const around = [];
    for (let e = element; e; e = e.parentElement) around.unshift(getComputedStyle(e));
    let below = [255, 255, 255], opacity = 1;
    for (const style of around) {
      const { rgb, a } = parsed(style.backgroundColor);
      opacity *= Number(style.opacity);
      below = over({ rgb, a: a * opacity }, below);
    }
    const style = around.at(-1), { rgb, a } = parsed(element instanceof SVGElement ? style.fill : style.color);
    const [light, dark] = [luminance(over({ rgb, a: a * opacity }, below)), luminance(below)].sort((x, y) => y - x);
    found.push([(light + 0.05) / (dark + 0.05), `#${element.closest("[id]")?.id ?? ""}`, data.trim().slice(0, 40)]);
  }
  return found;
}
