"use strict";
(function () {
  const byId = (id) => document.getElementById(id);
  const PAGE = 50;

  // ---- light and dark -----------------------------------------------------------------------------
  const root = document.documentElement;
  byId("theme").addEventListener("click", () => {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // ---- what was packed ----------------------------------------------------------------------------
  async function inflate(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text();
  }
  const unpack = async (text) => JSON.parse(await inflate(text));
  const chunks = JSON.parse(byId("chunks").textContent);
  const unpacked = new Map();
  async function chunk(number) {
    if (!unpacked.has(number)) {
      if (unpacked.size > 40) unpacked.delete(unpacked.keys().next().value);
      unpacked.set(number, await unpack(chunks[number]));
    }
    return unpacked.get(number);
  }

  // ---- small helpers: text goes in as text, never as markup ------------------------------------------
  function element(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    if (className) made.className = className;
    return made;
  }
  function option(select, value, text) {
    const made = element("option", text);
    made.value = value;
    select.append(made);
  }
  const usable = (status) => status === "ok" || status === "repaired";
  function tag(status) {
    return element("span", status.replace(/_/g, " "), "tag " + (usable(status) ? "ok" : "bad"));
  }

  let index = null, order = [], shown = [], page = 0, opened = -1, sortKey = "", rising = true;
  let matches = null;  // rows whose prompts or answers hold the words, where that was asked for

  const value = (row) => index.v[row] === null ? "–" : (index.v[row] / 100).toFixed(2);
  const group = (row) => index.groups[index.g[row]];
  const status = (row) => index.statuses[index.s[row]];
  const many = () => new Set(index.groups.map((g) => g.run)).size > 1;

  // ---- choosing rows ------------------------------------------------------------------------------
  function select() {
    const words = byId("q").value.toLowerCase().split(/\s+/).filter(Boolean);
    const run = byId("run").value, wanted = byId("group").value, state = byId("status").value;
    const texts = index.groups.map((g) => (g.run + " " + g.label).toLowerCase());
    shown = order.filter((row) => {
      const g = index.groups[index.g[row]];
      if (run && g.run !== run) return false;
      if (wanted && g.label !== wanted) return false;
      const s = index.statuses[index.s[row]];
      if (state && (state === "invalid" ? usable(s) : s !== state)) return false;
      if (!words.length) return true;
      if (matches && matches.has(row)) return true;
      const text = index.lower[row] + " " + texts[index.g[row]] + " " + s + " " + s.replace(/_/g, " ");
      return words.every((word) => text.includes(word));
    });
    page = 0;
    draw();
  }
  function sort() {
    const compare = {
      id: (a, b) => index.id[a] < index.id[b] ? -1 : index.id[a] > index.id[b] ? 1 : 0,
      g: (a, b) => index.g[a] - index.g[b],
      v: (a, b) => (index.v[a] ?? -1e9) - (index.v[b] ?? -1e9),
      s: (a, b) => index.s[a] - index.s[b],
      n: (a, b) => index.n[a] - index.n[b],
    }[sortKey];
    order = index.g.map((_, row) => row);
    if (compare) order.sort((a, b) => (rising ? compare(a, b) : compare(b, a)) || a - b);
    for (const button of document.querySelectorAll("#list thead button")) {
      const sorted = button.dataset.key === sortKey;
      button.parentElement.setAttribute("aria-sort", sorted ? (rising ? "ascending" : "descending") : "none");
    }
  }
  let searching = 0;
  async function searchDeep() {
    const mine = ++searching;
    const words = byId("q").value.toLowerCase().split(/\s+/).filter(Boolean);
    matches = null;
    if (!byId("deep").checked || !words.length) return select();
    const found = new Set();
    const escaped = words.map((word) => JSON.stringify(word).slice(1, -1));
    const holds = (text, all) => all.every((word) => text.includes(word));
    async function look(number) {
      const text = await inflate(chunks[number]);
      if (!holds(text.toLowerCase(), escaped)) return;
      JSON.parse(text).forEach((item, position) => {
        const whole = JSON.stringify(item).toLowerCase();
        if (holds(whole, escaped)) found.add(index.where.get(number * 64 + position));
      });
    }
    const STEP = 64;
    for (let first = 0; first < chunks.length; first += STEP) {
      const numbers = chunks.slice(first, first + STEP).map((_, at) => first + at);
      await Promise.all(numbers.map(look));
      if (mine !== searching) return;
      byId("count").textContent = "Searching, " + Math.round(100 * first / chunks.length) + " %";
    }
    matches = found;
    select();
  }

  // ---- the list -----------------------------------------------------------------------------------
  function draw() {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE));
    page = Math.min(page, pages - 1);
    const body = document.querySelector("#list tbody");
    const rows = shown.slice(page * PAGE, (page + 1) * PAGE).map((row) => {
      const line = element("tr");
      line.dataset.row = row;
      const name = element("td");
      const button = element("button", index.id[row]);
      button.type = "button";
      name.append(button);
      const g = group(row);
      const state = element("td");
      state.append(tag(status(row)));
      line.append(name, element("td", many() ? g.run + " · " + g.label : g.label),
        element("td", value(row), "number"), state, element("td", index.n[row], "number"));
      // Said outright, since on a narrow screen rows are laid out as a grid.
      line.setAttribute("role", "row");
      for (const cell of line.children) cell.setAttribute("role", "cell");
      return line;
    });
    body.replaceChildren(...rows);
    byId("page").textContent = "Page " + (page + 1) + " of " + pages.toLocaleString("en");
    byId("count").textContent = shown.length.toLocaleString("en") + " of " +
      index.g.length.toLocaleString("en") + " items";
    byId("first").disabled = byId("prev").disabled = page === 0;
    byId("last").disabled = byId("next").disabled = page === pages - 1;
  }
  function turn(to) {
    page = to;
    draw();
  }

  // ---- one item -----------------------------------------------------------------------------------
  function facts(pairs) {
    const list = element("dl", null, "facts");
    for (const [name, words] of pairs) list.append(element("dt", name), element("dd", words));
    return list;
  }
  function table(head, rows) {
    const made = element("table"), top = element("tr"), body = element("tbody");
    head.forEach((words) => { const th = element("th", words); th.scope = "col"; top.append(th); });
    rows.forEach((cells) => {
      const line = element("tr");
      cells.forEach((words) => line.append(element("td", words)));
      body.append(line);
    });
    const thead = element("thead");
    thead.append(top);
    made.append(thead, body);
    const scroll = element("div", null, "scroll");
    scroll.append(made);
    return scroll;
  }
  function answer(one, number, open) {
    const made = element("details", null, "answer"), head = element("summary");
    made.open = open;
    head.append(element("span", "Answer " + (number + 1)), tag(one.s));
    if (one.r && usable(one.s)) head.append(element("span", "read as " + one.r, "read"));
    const pair = element("div", null, "pair"), left = element("div"), right = element("div");
    left.append(element("h4", "Prompt"),
      one.p === null ? element("p", "The prompt is not in the store.", "note") : element("pre", one.p));
    right.append(element("h4", one.t.length > 1 ? one.t.length + " answers" : "Answer"));
    one.t.forEach((text) => right.append(element("pre", text === "" ? "(empty)" : text)));
    pair.append(left, right);
    made.append(head, pair);
    return made;
  }
  async function open(row) {
    opened = row;
    const g = group(row);
    byId("item-h").textContent = index.id[row];
    const body = byId("item-body");
    const metric = g.metric ? g.metric + " " + value(row) : value(row);
    const parts = [facts([["run", g.run], ["setting", g.label], ["value", metric],
      ["status", status(row).replace(/_/g, " ")]])];
    if (index.c[row] < 0) {
      parts.push(element("p", "This item's prompts and answers are not in this page, for want of room. In a terminal:", "note"),
        element("pre", "authbench show results/" + g.run + " --item " + index.id[row]));
    } else {
      const item = (await chunk(index.c[row]))[index.p[row]];
      if (opened !== row) return;
      if (item.f) parts.push(facts(item.f));
      if (item.h) parts.push(table(item.h, item.w));
      const bad = item.a.findIndex((one) => !usable(one.s));
      item.a.forEach((one, number) => parts.push(answer(one, number, number === Math.max(bad, 0))));
      if (item.m) parts.push(element("p", item.m + " more answers are left out.", "note"));
    }
    body.replaceChildren(...parts);
    const at = shown.indexOf(row);
    byId("back").disabled = at <= 0;
    byId("on").disabled = at < 0 || at === shown.length - 1;
    const dialog = byId("item");
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  }
  function step(by) {
    const at = shown.indexOf(opened) + by;
    if (at >= 0 && at < shown.length) open(shown[at]);
  }

  // ---- start --------------------------------------------------------------------------------------
  async function start() {
    if (typeof DecompressionStream === "undefined") {
      byId("items").append(element("p", "This browser is too old to unpack the list of items.", "warning"));
      return;
    }
    index = await unpack(JSON.parse(byId("index").textContent).z);
    index.lower = index.id.map((id) => id.toLowerCase());
    index.where = new Map();
    index.c.forEach((number, row) => { if (number >= 0) index.where.set(number * 64 + index.p[row], row); });
    const runs = [...new Set(index.groups.map((g) => g.run))];
    runs.forEach((run) => option(byId("run"), run, run));
    byId("run").parentElement.hidden = runs.length < 2;
    [...new Set(index.groups.map((g) => g.label))].forEach((label) => option(byId("group"), label, label));
    [...new Set(index.s)].sort((a, b) => a - b)
      .forEach((s) => option(byId("status"), index.statuses[s], index.statuses[s].replace(/_/g, " ")));
    byId("explorer").hidden = false;
    sort();
    select();

    let timer = 0;
    byId("q").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(searchDeep, 150); });
    byId("deep").addEventListener("change", searchDeep);
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    for (const id of ["run", "group", "status"]) byId(id).addEventListener("change", select);
    document.querySelector("#list thead").addEventListener("click", (event) => {
      const key = event.target.dataset.key;
      if (!key) return;
      rising = key === sortKey ? !rising : true;
      sortKey = key;
      sort();
      select();
    });
    document.querySelector("#list tbody").addEventListener("click", (event) => {
      const line = event.target.closest("tr");
      if (line) open(Number(line.dataset.row));
    });
    byId("first").addEventListener("click", () => turn(0));
    byId("prev").addEventListener("click", () => turn(page - 1));
    byId("next").addEventListener("click", () => turn(page + 1));
    byId("last").addEventListener("click", () => turn(Math.ceil(shown.length / PAGE) - 1));
    byId("close").addEventListener("click", () => byId("item").close());
    byId("back").addEventListener("click", () => step(-1));
    byId("on").addEventListener("click", () => step(1));
    byId("item").addEventListener("click", (event) => { if (event.target === byId("item")) byId("item").close(); });
    byId("item").addEventListener("keydown", (event) => {
      if (event.target.closest("pre, input")) return;
      if (event.key === "ArrowLeft") step(-1);
      if (event.key === "ArrowRight") step(1);
    });
    byId("item").addEventListener("close", () => {
      const line = document.querySelector('#list tr[data-row="' + opened + '"] button');
      if (line) line.focus();
    });
  }
  start();
})();
