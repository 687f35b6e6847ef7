"use strict";
// The page is complete without this script: it adds finding, ordering, following and tooltips.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const cards = all("details.game");
  all(".js").forEach((part) => { part.hidden = false; });

  // Tooltips: the text of a figure's <title> or an element's title, also on focus and touch.
  const tip = byId("tip");
  const wordsOf = (mark) => {
    if (mark.dataset.tip === undefined) {
      const title = mark.querySelector(":scope > title");
      mark.dataset.tip = title ? title.textContent : mark.getAttribute("title") || "";
      if (title && !mark.hasAttribute("aria-label")) mark.setAttribute("aria-label", mark.dataset.tip);
      title?.remove();
      mark.removeAttribute("title");
    }
    return mark.dataset.tip;
  };
  let told = null;
  const placeTip = (x) => {
    const box = told.getBoundingClientRect();
    const near = x === undefined ? box.left + box.width / 2 : x;
    const left = Math.max(8, Math.min(near - tip.offsetWidth / 2, innerWidth - tip.offsetWidth - 8));
    const above = box.top - tip.offsetHeight - 8;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 4 ? above : Math.min(box.bottom + 8, innerHeight - tip.offsetHeight - 4)}px`;
  };
  const hideTip = () => { tip.hidden = true; told = null; };
  const showTip = (event) => {
    const mark = event.target.closest && event.target.closest(".mark, [title], [data-tip]");
    const words = mark ? wordsOf(mark) : "";
    if (!words) { hideTip(); return; }
    told = mark;
    tip.textContent = words;
    tip.hidden = false;
    placeTip(event.clientX);
  };
  // Focus may scroll its target into view: its words go along, those of the pointer go away.
  const followTip = () => {
    if (told && told === document.activeElement) placeTip();
    else hideTip();
  };
  document.addEventListener("pointerover", showTip);
  document.addEventListener("focusin", showTip);
  document.addEventListener("focusout", hideTip);
  document.addEventListener("scroll", followTip, { capture: true, passive: true });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

  // A link to a card opens it.
  const openTarget = () => {
    const card = /^#game-\d+$/.test(location.hash) && byId(location.hash.slice(1));
    if (!card) return;
    if (card.hidden) { clearFilter(); }
    card.open = true;
    card.scrollIntoView();
    card.querySelector("summary").focus({ preventScroll: true });
  };
  addEventListener("hashchange", openTarget);
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a[href^='#game-']");
    if (link && link.getAttribute("href") === location.hash) openTarget();
  });

  // Finding and sorting games.
  const find = byId("find"), generation = byId("generation"), sort = byId("sort");
  const list = byId("cards"), none = byId("none"), count = byId("count");
  const textOf = (card) => [".who", ".program", ".facts"]
    .map((part) => card.querySelector(part)?.textContent ?? "").join("\n").toLowerCase();
  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const card of cards) {
      const fits = (!generation.value || card.dataset.generation === generation.value)
        && words.every((word) => textOf(card).includes(word));
      card.hidden = !fits;
      shown += fits;
    }
    none.hidden = shown > 0;
    count.textContent = shown === cards.length ? `${shown} ${shown === 1 ? "game" : "games"}` : `${shown} of ${cards.length} games`;
  };
  const clearFilter = () => { find.value = ""; generation.value = ""; filter(); };
  const number = (card, key, missing) => (card.dataset[key] === "" ? missing : Number(card.dataset[key]));
  const orders = {
    age: (a, b) => a.dataset.place - b.dataset.place,
    gamma: (a, b) => number(a, "gamma", Infinity) - number(b, "gamma", Infinity) || orders.age(a, b),
    gain: (a, b) => number(b, "gain", -Infinity) - number(a, "gain", -Infinity) || orders.age(a, b),
  };
  find.addEventListener("input", filter);
  generation.addEventListener("change", filter);
  sort.addEventListener("change", () => list.append(...[...cards].sort(orders[sort.value])));
  find.form.addEventListener("submit", (event) => event.preventDefault());
  list.classList.toggle("large", cards.length > 60);
  filter();

  // Following a line of descent.
  const tree = document.querySelector("svg.lineage");
  if (tree) {
    const nodes = new Map(all("a[data-game]", tree).map((node) => [node.dataset.game, node]));
    const edges = new Map(all(".edge", tree).map((edge) => [edge.dataset.child, edge]));
    const line = (place) => (place === undefined ? [] : [place, ...line(nodes.get(place)?.dataset.parent)]);
    const unlight = () => {
      tree.classList.remove("following");
      all(".lit", tree).forEach((part) => part.classList.remove("lit"));
    };
    const light = (place) => {
      unlight();
      tree.classList.add("following");
      nodes.forEach((node, each) => {
        if (!line(each).includes(place) && !line(place).includes(each)) return;
        node.classList.add("lit");
        edges.get(each)?.classList.add("lit");
      });
    };
    nodes.forEach((node, place) => {
      ["pointerenter", "focus"].forEach((kind) => node.addEventListener(kind, () => light(place)));
      ["pointerleave", "blur"].forEach((kind) => node.addEventListener(kind, unlight));
    });
  }

  openTarget();
})();
