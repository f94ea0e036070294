"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  const range = (n) => Array.from({ length: n }, (_, place) => place);

  // -- texts: names come from files, so they are only ever set as text ------------------------------------

  const make = (tag, text, className) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };

  // Measures and names of files may be broken after these signs, but not inside words.
  const breakable = (element, text) => {
    const parts = String(text).split(/(?<=[(,=_/])/);
    parts.forEach((part, place) => element.append(...(place ? [make("wbr")] : []), part));
    return element;
  };

  // Four decimals, or two digits of numbers that are too small for these, as in the tables of the package.
  const minus = (number) => number.replace(/^-/, "\u2212");
  const show = (value, decimals = 4) => {
    if (value === 0) value = 0; // no -0
    const size = Math.abs(value);
    if (value !== 0 && (size < 0.5 * 10 ** -decimals || size >= 1e6)) return minus(value.toPrecision(2));
    return minus(value.toFixed(decimals));
  };
  const signed = (value) => (value > 0 ? "+" : "") + show(value);
  const showP = (p) => (p < 0.0001 ? "p < 0.0001" : `p = ${p.toPrecision(3)}`);

  // -- the table of systems -------------------------------------------------------------------------------

  const table = find("table");
  const rows = Array.from(table.tBodies[0].rows);
  const chosenBaseline = () => {
    const select = find("baseline");
    return select && select.value !== "" ? Number(select.value) : null;
  };

  const sortBy = (button) => {
    const column = Number(button.dataset.column);
    const head = button.closest("th");
    const lower = column < 0 || data.measures[column].lowerMean;
    const before = head.getAttribute("aria-sort");
    const first = lower ? "ascending" : "descending"; // the best first
    const direction = before === first ? (lower ? "descending" : "ascending") : first;
    table.querySelectorAll("th[aria-sort]").forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", direction);
    sortAgain();
  };

  const sortAgain = () => {
    const head = table.querySelector("th[aria-sort]");
    if (head === null) return;
    const column = Number(head.querySelector(".sort").dataset.column);
    const direction = head.getAttribute("aria-sort");
    const sign = direction === "ascending" ? 1 : -1;
    const names = new Intl.Collator("en", { numeric: true });
    const compare = (a, b) =>
      column < 0 ? names.compare(data.runs[a], data.runs[b]) : data.means[column][a] - data.means[column][b];
    rows.sort((a, b) => sign * compare(Number(a.dataset.row), Number(b.dataset.row)) || a.dataset.row - b.dataset.row);
    table.tBodies[0].append(...rows);
  };

  const filter = () => {
    const wanted = find("filter").value.trim().toLowerCase();
    rows.forEach((row) => { row.hidden = !data.runs[row.dataset.row].toLowerCase().includes(wanted); });
    const left = rows.filter((row) => !row.hidden).length;
    find("found").textContent = wanted ? `${left} of ${rows.length} systems` : "";
  };

  const mark = () => {
    const against = chosenBaseline();
    const below = find("below").value;
    document.body.classList.toggle("compared", against !== null);
    for (const row of rows) {
      const system = Number(row.dataset.row);
      row.classList.toggle("baseline", system === against);
      data.measures.forEach((_, measure) => {
        const cell = row.cells[measure + 1];
        const verdict = against === null || data.tests === null ? "." : data.tests.verdicts[measure][against][system];
        const sign = cell.querySelector(".mark");
        sign.textContent = { "+": "▲", "-": "▼", ".": "" }[verdict];
        sign.className = `mark ${{ "+": "better", "-": "worse", ".": "" }[verdict]}`;
        const said = { "+": "significantly better", "-": "significantly worse", ".": "" }[verdict];
        if (said) { sign.setAttribute("role", "img"); sign.setAttribute("aria-label", said); }
        else { sign.removeAttribute("role"); sign.removeAttribute("aria-label"); }
        const p = against === null || against === system || data.tests === null ? "" : showP(data.tests.p[measure][against][system]);
        cell.title = p;
        const ends = data.ends[measure];
        const interval = ends === null ? "" : `[${show(ends[0][system])}, ${show(ends[1][system])}]`;
        const powered = data.powered === null || data.powered[measure] === null ? "" :
          data.powered[measure].map((column) => show(column[system]));
        const estimate = powered && `${powered[0]} [${powered[1]}, ${powered[2]}]`;
        cell.querySelector("small").textContent = { powered: estimate, ends: interval, p, "": "" }[below];
      });
    }
  };

  // The data that depend on the choice of topics; initially those of all topics.
  const choices = [{ ...data }, ...data.groups];
  const ofGroup = () => {
    if (data.group === "all") return "";
    return typeof data.size === "number" ? ` (topics of ${data.group})` : ` (${data.group}: mean of ${data.size})`;
  };

  const chooseTopics = () => {
    Object.assign(data, choices[Number(find("group").value)]);
    for (const row of rows) {
      const system = Number(row.dataset.row);
      data.measures.forEach((_, measure) => {
        const value = row.cells[measure + 1].firstElementChild;
        value.textContent = show(data.means[measure][system]);
        value.className = data.marks[measure][system];
      });
    }
    sortAgain();
    mark();
  };

  table.querySelectorAll(".sort").forEach((button) => button.addEventListener("click", () => sortBy(button)));
  find("filter").addEventListener("input", filter);
  find("below").addEventListener("change", mark);
  find("baseline")?.addEventListener("change", mark);
  find("group")?.addEventListener("change", chooseTopics);
  mark();

  // -- charts ---------------------------------------------------------------------------------------------

  const text = "currentColor";
  const axis = (orient, scale, more) => ({
    orient, scale, grid: true, gridColor: "currentColor", gridOpacity: 0.13, domainColor: text, tickColor: text,
    labelColor: text, titleColor: text, labelFontSize: 12, titleFontSize: 13, tickCount: 6, labelLimit: 160, ...more,
  });
  // The width of the page; in print, that of the sheet follows by CSS.
  const room = "isFinite(containerSize()[0]) ? max(200, containerSize()[0]) : 600";
  const width = { name: "width", init: room, on: [{ events: "window:resize", update: room }] };
  const frame = (height) => ({
    height, padding: 4, background: "transparent",
    autosize: { type: "fit", contains: "padding", resize: true },
  });
  // ast: expressions are interpreted, as the policy of the page allows no eval.
  const chart = async (id, spec, values, signals) => {
    spec.data[0].values = values;
    spec.signals.push(...Object.entries(signals).map(([name, value]) => ({ name, value })));
    const options = { mode: "vega", renderer: "svg", actions: false, ast: true, logLevel: 1, // errors only
      tooltip: { theme: "custom", disableDefaultStyle: true } };
    return (await vegaEmbed(find(id), spec, options)).view;
  };
  const views = {};
  const draw = async (id, spec, values, signals) => {
    if (!(id in views)) { views[id] = await chart(id, spec, values, signals); return views[id]; }
    Object.entries(signals).forEach(([name, value]) => views[id].signal(name, value));
    return views[id].data("table", values).runAsync();
  };
  const named = (place) => {
    const measure = data.measures[place];
    const said = measure.aspect === null || measure.label.includes(measure.aspect); // "nDCG@10 relevance"
    const name = said ? measure.short : `${measure.aspect} (${measure.label})`;
    return measure.lowerMean ? `${name}, lower is better` : name;
  };

  // One picture per measure: the means of the systems with their intervals, best first.
  const meansSpec = (measure) => ({
    ...frame(32 + 20 * data.runs.length),
    description: `Means of the systems on ${named(measure)}, best first.`,
    signals: [width],
    data: [{ name: "table" },
      { name: "against", source: "table", transform: [{ type: "filter", expr: "datum.baseline" }] }],
    scales: [
      { name: "x", type: "linear", domain: { data: "table", fields: ["low", "mean", "high"] }, range: "width", zero: false,
        nice: true, padding: 6 },
      { name: "y", type: "point", domain: { data: "table", field: "name" }, range: "height", padding: 0.6 }],
    axes: [axis("bottom", "x", { tickCount: 4 }), axis("left", "y", { grid: false, ticks: false, labelLimit: 150 })],
    marks: [
      { type: "rule", from: { data: "against" }, aria: false, encode: { update: { x: { scale: "x", field: "mean" },
        y: { value: 0 }, y2: { signal: "height" }, stroke: { value: "var(--orange)" }, strokeWidth: { value: 1.5 },
        strokeDash: { value: [5, 4] } } } },
      { type: "rule", from: { data: "table" }, aria: false, encode: { update: { x: { scale: "x", field: "low" },
        x2: { scale: "x", field: "high" }, y: { scale: "y", field: "name" }, stroke: { value: text },
        strokeWidth: { value: 1.5 } } } },
      { type: "symbol", from: { data: "table" }, encode: { update: { x: { scale: "x", field: "mean" },
        y: { scale: "y", field: "name" }, size: { value: 75 },
        shape: { signal: "datum.baseline ? 'square' : 'circle'" },
        fill: { signal: "datum.baseline ? 'var(--orange)' : 'var(--blue)'" },
        tooltip: { field: "said" }, description: { field: "said" } } } },
    ],
  });

  const drawMeans = () => Promise.all(data.measures.map((measure, place) => {
    const ends = data.ends[place];
    const points = data.runs.map((name, row) => {
      const mean = data.means[place][row];
      const [low, high] = ends === null ? [mean, mean] : [ends[0][row], ends[1][row]];
      const interval = ends === null ? "" : ` [${show(low)}, ${show(high)}]`;
      return { name, mean, low, high, baseline: row === chosenBaseline(), said: `${name}: ${show(mean)}${interval}` };
    });
    points.sort((a, b) => (measure.lowerMean ? a.mean - b.mean : b.mean - a.mean));
    return draw(`mean-${place}`, meansSpec(place), points, {});
  }));

  const scatterSpec = {
    ...frame(380),
    description: "Systems by their means on two measures.",
    signals: [width],
    data: [{ name: "table" }],
    scales: [
      { name: "x", type: "linear", domain: { data: "table", field: "x" }, range: "width", zero: false, nice: true,
        padding: 34, reverse: { signal: "xFlip" } },
      { name: "y", type: "linear", domain: { data: "table", field: "y" }, range: "height", zero: false, nice: true,
        padding: 14, reverse: { signal: "yFlip" } }],
    axes: [axis("bottom", "x", { title: { signal: "xTitle" }, titleLimit: { signal: "width" } }),
      axis("left", "y", { title: { signal: "yTitle" }, titleLimit: 360 })],
    marks: [
      { type: "symbol", name: "points", from: { data: "table" }, encode: { update: {
        x: { scale: "x", field: "x" }, y: { scale: "y", field: "y" },
        shape: { signal: "datum.baseline ? 'square' : 'circle'" },
        size: { value: 75 },
        fill: { signal: "datum.baseline ? 'var(--orange)' : 'var(--blue)'" },
        opacity: { value: 0.9 }, tooltip: { field: "said" }, description: { field: "said" },
        cursor: { value: "pointer" } }, hover: { opacity: { value: 0.5 } } } },
      { type: "text", from: { data: "points" }, interactive: false, aria: false, encode: { enter: {
        text: { field: "datum.label" }, fill: { value: text }, fontSize: { value: 12 } } },
        // Names cover neither points nor each other; that of the baseline comes first, and some may be left out.
        transform: [{ type: "label", size: { signal: "[width, height]" }, padding: 20,
          avoidBaseMark: true,
          sort: { field: "datum.baseline", order: "descending" },
          anchor: ["right", "top", "bottom", "left", "top-right", "bottom-right", "top-left", "bottom-left"],
          offset: [4] }] },
    ],
  };

  const drawScatter = () => {
    const [x, y] = ["x", "y"].map((id) => Number(find(id).value));
    const shorten = (name) => (name.length > 24 ? `${name.slice(0, 23)}…` : name);
    const points = data.runs.map((name, row) => ({
      row, x: data.means[x][row], y: data.means[y][row], baseline: row === chosenBaseline(),
      label: shorten(name),
      said: `${name}: ${show(data.means[x][row])}, ${show(data.means[y][row])}`,
    }));
    return draw("scatter", scatterSpec, points, { xTitle: named(x), yTitle: named(y),
      xFlip: data.measures[x].lowerMean, yFlip: data.measures[y].lowerMean });
  };

  // -- topics ---------------------------------------------------------------------------------------------

  const pair = () => {
    const b = find("b").value;
    return { measure: Number(find("measure").value), a: Number(find("a").value), b: b === "" ? null : Number(b) };
  };
  const included = new Map(data.topics.map((query, place) => [query, place]));
  let chosen = null;

  const barsSpec = {
    ...frame(260),
    description: "The difference between two systems for each topic.",
    signals: [width],
    data: [{ name: "table" }],
    scales: [
      { name: "x", type: "band", domain: { data: "table", field: "place" }, range: "width", paddingInner: 0.15,
        paddingOuter: 0.1 },
      { name: "y", type: "linear", domain: { data: "table", field: "difference" }, range: "height", zero: true, nice: true }],
    axes: [axis("left", "y", { title: { signal: "yTitle" }, titleLimit: 240 })],
    marks: [
      { type: "rect", from: { data: "table" }, encode: { update: {
        x: { scale: "x", field: "place" }, width: { scale: "x", band: 1 }, y: { scale: "y", field: "difference" },
        y2: { scale: "y", value: 0 }, fill: { signal: "datum.difference < 0 ? 'var(--orange)' : 'var(--blue)'" },
        opacity: { value: 0.9 }, tooltip: { field: "said" }, description: { field: "said" },
        cursor: { value: "pointer" } }, hover: { opacity: { value: 0.5 } } } },
      { type: "rule", interactive: false, aria: false, encode: { update: { x: { value: 0 }, x2: { signal: "width" },
        y: { scale: "y", value: 0 }, stroke: { value: text } } } },
    ],
  };

  const headCell = (name, className) => {
    const cell = breakable(make("th", undefined, className), name);
    cell.scope = "col";
    return cell;
  };

  const titleOf = (query) => (data.texts[query] ? `${data.queries[query]} ${data.texts[query]}` : data.queries[query]);

  const drawTopics = () => {
    const { measure, a, b } = pair();
    const lower = data.measures[measure].lower;
    const of = (run, query) => data.values[measure][run][query];
    const all = data.shown.map((query) => ({
      query, a: of(a, query), b: b === null ? null : of(b, query),
      difference: b === null ? of(a, query) : of(a, query) - of(b, query),
    }));
    // Rounding errors are not differences.
    const most = Math.max(...all.map((each) => Math.max(Math.abs(each.a), Math.abs(each.b ?? 0))));
    const differs = (each) => (Math.abs(each.difference) <= 1e-12 * most ? 0 : Math.sign(each.difference));
    all.sort((one, other) => other.difference - one.difference || one.query - other.query);
    const values = all.map((each, place) => ({
      ...each, place, said: `${titleOf(each.query)}: ${b === null ? show(each.a) : signed(each.difference)}`,
    }));
    const better = all.filter((each) => differs(each) === (lower ? -1 : 1)).length;
    const worse = all.filter((each) => differs(each) === (lower ? 1 : -1)).length;
    find("counts").textContent = b === null ? ""
      : `A is better on ${better} topic${better === 1 ? "" : "s"}, worse on ${worse} and equal to B on`
        + ` ${all.length - better - worse}`
        + ` (${data.measures[measure].short}${lower ? ", lower is better" : ""})${ofGroup()}.`;
    all.sort((one, other) => Math.abs(other.difference) - Math.abs(one.difference) || one.query - other.query);
    const head = make("tr");
    head.append(headCell("Topic"), headCell("A"), ...(b === null ? [] : [headCell("B"), headCell("A − B")]));
    const body = all.map((each) => {
      const row = make("tr");
      row.dataset.query = each.query;
      const name = make("td", undefined, "text");
      if (included.has(each.query)) {
        const button = make("button", data.queries[each.query]);
        button.type = "button";
        button.addEventListener("click", () => choose(each.query, true));
        name.append(button);
      } else name.textContent = data.queries[each.query];
      if (data.texts[each.query]) name.append(" ", make("span", data.texts[each.query]));
      row.append(name, make("td", show(each.a)));
      if (b !== null) row.append(make("td", show(each.b)), make("td", signed(each.difference)));
      return row;
    });
    const topics = find("topics");
    const [thead, tbody] = [make("thead"), make("tbody")];
    thead.append(head);
    tbody.append(...body);
    topics.replaceChildren(thead, tbody);
    const box = topics.parentElement;
    find("more").textContent = box.scrollHeight > box.clientHeight + 1 ? `The list scrolls: ${all.length} topics.` : "";
    if (chosen !== null) choose(chosen, false);
    return draw("differences", barsSpec, values,
      { yTitle: b === null ? `${data.measures[measure].short} of A` : "A minus B" });
  };

  const choose = (query, move) => {
    if (!included.has(query)) return;
    chosen = query;
    document.querySelectorAll("#topics tr").forEach((row) => {
      row.classList.toggle("chosen", row.dataset.query === String(query));
    });
    explain(query);
    if (move) { find("explanation").focus({ preventScroll: true }); find("explanation").scrollIntoView({ block: "start" }); }
  };

  // The contributions to a measure in a run, or the reason why there are none.
  const partsOf = (measure, run, topic) => {
    const found = data.contributions[measure];
    if (typeof found === "string") return { reason: found };
    const unit = 10 ** -found.decimals;
    const at = (values) => (values === undefined ? 0 : values === true ? 1 : values[run][topic]);
    const other = (found.explained ?? []).find((each) => each[0] === run && each[1] === topic);
    return { decimals: found.decimals, ranks: found.ranks[run][topic].map((each) => each * unit), offset: at(found.offset),
      marginal: Boolean(at(found.marginal)), explained: other ? other[2] : null };
  };

  // The contributions of the first ranks; empty if they are unknown.
  const amountsOf = (parts, ranked) => (parts.reason ? [] : ranked.map((_, place) => parts.ranks[place] ?? 0));

  const side = (letter, run, rival, measure, query, most) => {
    const topic = included.get(query);
    const value = data.values[measure][run][query];
    const parts = partsOf(measure, run, topic);
    const ranked = data.ranks[run][topic];
    const rivals = new Map(rival === null ? [] : data.ranks[rival][topic].map((document, place) => [document, place + 1]));
    const box = make("div");
    box.append(make("h4", `${letter}: ${data.runs[run]}, ${show(value)}`));
    const [around, content] = [make("div", undefined, "wide"), make("table")];
    around.tabIndex = 0;
    around.setAttribute("role", "region");
    around.setAttribute("aria-label", `Ranking of ${letter}`);
    const head = make("tr");
    head.append(headCell("Rank"), headCell("Document", "text"));
    if (!parts.reason) head.append(headCell("Contribution"));
    head.append(...data.aspects.map((name) => headCell(name)));
    const body = make("tbody");
    const amounts = amountsOf(parts, ranked);
    ranked.forEach((document, place) => {
      const row = make("tr");
      const name = make("td", data.documents[topic][document], "text");
      if (rival !== null) {
        const there = rivals.has(document) ? `${letter === "A" ? "B" : "A"}: ${rivals.get(document)}` : "";
        if (there) name.append(" ", make("span", `(${there})`, "moved"));
      }
      row.append(make("td", place + 1), name);
      if (!parts.reason) {
        const cell = make("td", undefined, "amount");
        const bar = make("i", undefined, amounts[place] < 0 ? "negative" : "");
        bar.style.width = `${(100 * Math.abs(amounts[place])) / most}%`;
        cell.append(bar, make("span", show(amounts[place], Math.max(0, parts.decimals))));
        row.append(cell);
      }
      data.labels.forEach((labels) => {
        const label = labels[topic][document];
        row.append(make("td", label === null ? "–" : label));
      });
      body.append(row);
    });
    const total = parts.explained ?? value;
    const line = (said, amount) => {
      const row = make("tr");
      const cell = make("td", said, "text");
      cell.colSpan = 2;
      const none = make("td");
      none.colSpan = data.aspects.length;
      row.append(cell, make("td", show(amount, Math.max(0, parts.decimals))), none);
      body.append(row);
    };
    if (!parts.reason) {
      if (parts.offset) line("Independent of the documents", parts.offset);
      const rest = total - parts.offset - amounts.reduce((sum, each) => sum + each, 0);
      // Each amount is rounded by at most half a unit.
      if (Math.abs(rest) > 0.5 * (amounts.length + 1) * 10 ** -parts.decimals) line("Further ranks, and contributions without a rank", rest);
    }
    const thead = make("thead");
    thead.append(head);
    content.append(thead, body);
    around.append(content);
    box.append(around);
    if (!ranked.length) box.append(make("p", "The run retrieves nothing for this topic.", "small"));
    if (parts.marginal) box.append(make("p", "Contributions are marginal: the value of the first k ranks minus that of the first k − 1.", "small"));
    if (parts.explained !== null && parts.explained !== undefined) {
      box.append(make("p", `ir-measures rounds this value: the contributions sum to ${show(parts.explained)}.`, "note"));
    }
    if (parts.reason) box.append(make("p", "Contributions to this measure are not known.", "small"));
    return box;
  };

  const listing = (title, heads, rows) => {
    const [around, table, head, body] = [make("div", undefined, "wide"), make("table"), make("thead"), make("tbody")];
    around.tabIndex = 0;
    around.setAttribute("role", "region");
    around.setAttribute("aria-label", title);
    const row = make("tr");
    row.append(...heads.map((name) => headCell(name, "text")));
    head.append(row);
    body.append(...rows.map((cells) => {
      const line = make("tr");
      line.append(...cells.map((cell) => make("td", cell, "text")));
      return line;
    }));
    table.append(head, body);
    around.append(table);
    return around;
  };

  // The values of a run on a topic, and its answer: text, labels and nuggets.
  const answerOf = (letter, run, query) => {
    const parts = data.ranks ? [] : [make("h4", `${letter}: ${data.runs[run]}`),
      listing(`Values of ${letter}`, ["Measure", "Value"],
        data.measures.map((measure, place) => [measure.short, show(data.values[place][run][query])]))];
    if (data.answers === null) return parts;
    const answer = data.answers[run][query];
    if (answer === null) return [...parts, make("p", "No answer is given.", "small")];
    if (answer.text !== null) parts.push(make("blockquote", answer.text));
    if (answer.labels.length) parts.push(listing(`Labels of ${letter}`, ["Label", "Value"], answer.labels));
    if (answer.items.rows.length) parts.push(listing(`Parts of ${letter}`, answer.items.heads, answer.items.rows));
    return parts;
  };

  const explain = (query) => {
    const { measure, a, b } = pair();
    const topic = included.get(query);
    // The bars of both rankings have one scale.
    const shown = [a, b].filter((run) => run !== null && data.ranks)
      .flatMap((run) => amountsOf(partsOf(measure, run, topic), data.ranks[run][topic]));
    const most = Math.max(1e-300, ...shown.map(Math.abs));
    const sides = make("div", undefined, "sides");
    [["A", a, b], ["B", b, a]].filter(([, run]) => run !== null).forEach(([letter, run, rival]) => {
      const box = data.ranks ? side(letter, run, rival, measure, query, most) : make("div");
      box.append(...answerOf(letter, run, query));
      sides.append(box);
    });
    const title = breakable(make("h3"), `Topic ${data.queries[query]}, ${data.measures[measure].short}`);
    const text = data.texts[query] ? [make("p", data.texts[query])] : [];
    const legend = make("p", "– is an unjudged document. In brackets, the rank of the document in the other system, if it is in this page.", "small");
    find("explanation").replaceChildren(title, ...text, sides, ...(data.ranks ? [legend] : []));
  };

  // -- start ----------------------------------------------------------------------------------------------

  const start = async () => {
    if (find("scatter")) {
      await drawScatter();
      ["x", "y", "baseline", "group"].forEach((id) => find(id)?.addEventListener("change", drawScatter));
    }
    await drawMeans();
    ["baseline", "group"].forEach((id) => find(id)?.addEventListener("change", drawMeans));
    const bars = await drawTopics();
    bars.addEventListener("click", (_, item) => {
      if (item && item.datum && "query" in item.datum) choose(item.datum.query, true);
    });
    ["measure", "a", "b", "group"].forEach((id) => find(id)?.addEventListener("change", drawTopics));
    document.documentElement.dataset.ready = "true";
  };

  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((each) => { each.open = true; });
  });
  start();
})();
