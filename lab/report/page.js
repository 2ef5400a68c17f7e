"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const drawn = new Map();
  const PAPER = 660; // CSS pixels between the margins of a page of A4 or Letter
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (place) => style(`--c${place % 12}`);
  const number = (value) => (value == null ? "–" : Math.abs(value) >= 100
    ? Math.round(value).toLocaleString("en").replaceAll(",", "\u202f") : String(+value.toPrecision(3)));

  const utc = (seconds) => new Date(seconds * 1000).toISOString();

  // Times of day, with seconds where the chart shows minutes only, with the date where it shows days; all UTC.
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
  function clock(chart, ticks) {
    const span = chart.scales.x.max - chart.scales.x.min;
    return ticks.map((tick) => utc(tick).slice(span > 86400 ? 5 : 11, span < 900 ? 19 : 16).replace("T", " "));
  }

  function axisSize(chart, values, axis, cycle) {
    if (cycle > 1 || !values) return values ? chart.axes[axis]._size : 40;
    chart.ctx.font = "12px system-ui, sans-serif";
    return Math.ceil(Math.max(36, ...values.map((text) => chart.ctx.measureText(text ?? "").width)) + 18);
  }

  // Bands: [from, to]; below everything else.
  function shade(chart, bands) {
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = style("--hold");
    for (const [from, to] of bands) {
      const left = chart.valToPos(from, "x", true);
      ctx.fillRect(left, bbox.top, Math.max(chart.valToPos(to, "x", true) - left, devicePixelRatio), bbox.height);
    }
    ctx.restore();
  }

  // Vertical marks: [x, text, colour, dash]; the text stands above the plot where there is room for it.
  function mark(chart, marks) {
    const { ctx, bbox } = chart;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "bottom";
    ctx.lineWidth = ratio;
    let free = -Infinity;
    for (const [at, text, paint, dash] of marks) {
      const x = Math.round(chart.valToPos(at, "x", true)) + 0.5;
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = ctx.fillStyle = paint;
      ctx.setLineDash(dash.map((part) => part * ratio));
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const width = ctx.measureText(text).width;
      const left = Math.min(x, bbox.left + bbox.width - width);
      if (text && left > free) {
        ctx.fillText(text, left, bbox.top - 2 * ratio);
        free = left + width + 10 * ratio;
      }
    }
    ctx.restore();
  }

  // Seconds with sync flushing on lines that have no column of their own for it: [series number, x array, flags].
  function dotted(chart, flagged) {
    const { ctx } = chart;
    ctx.save();
    ctx.fillStyle = style("--sync");
    for (const [line, at, pages, sync] of flagged) {
      if (!chart.series[line].show) continue;
      at.forEach((x, index) => {
        if (!(sync[index] > 0) || pages[index] == null) return;
        ctx.beginPath();
        ctx.arc(chart.valToPos(x, "x", true), chart.valToPos(pages[index], "y", true), 3 * devicePixelRatio, 0, 7);
        ctx.fill();
      });
    }
    ctx.restore();
  }

  function plot(figure, spec) {
    const place = figure.querySelector(".plot");
    drawn.get(figure)?.destroy();
    drawn.delete(figure);
    place.replaceChildren();
    const key = figure.querySelector(".key");
    key.hidden = !spec.key;
    key.textContent = spec.key ?? "";
    if (!spec.lines.length) {
      key.hidden = false;
      key.textContent = spec.missing ?? "Not recorded.";
      return;
    }
    const ink = style("--soft"), grid = style("--line");
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui, sans-serif" };
    const chart = new uPlot({
      width: "print" in document.documentElement.dataset ? PAPER : Math.max(280, place.clientWidth),
      height: innerWidth < 640 ? 200 : 250,
      cursor: { sync: { key: figure.dataset.group ?? "trace" }, drag: { x: true, y: false } },
      scales: { x: { time: !!spec.time },
        y: spec.log ? { distr: 3 } : { range: (u, low, high) => [0, (high > 0 ? high : 1) * 1.06] } },
      tzDate: (stamp) => uPlot.tzDate(new Date(stamp * 1000), "Etc/UTC"),
      axes: [{ ...axis, ...(spec.time ? { incrs: STEPS, space: 90 } : {}), values: spec.time ? clock : (u, ticks) => ticks.map((tick) => `${number(tick)} s`) },
        { ...axis, size: axisSize, values: (u, ticks) => ticks.map((tick) => (tick == null ? "" : number(tick))) }],
      series: [{ label: spec.time ? "UTC" : "second", value: (u, at) => (at == null ? "–" : spec.time ? utc(at).slice(0, 19).replace("T", " ") : number(at)) }, ...spec.lines.map((line) => ({
        label: line.label, stroke: line.stroke, width: line.bars ? 0 : line.width ?? 1.5, dash: line.dash, fill: line.fill,
        points: { show: false }, value: (u, value) => number(value),
        paths: line.steps ? uPlot.paths.stepped({ align: 1 }) : line.bars ? uPlot.paths.bars({ size: [1, 8, 2] }) : undefined,
      }))],
      padding: [spec.marks?.some(([, text]) => text) ? 18 : 8, 12, 0, 0],
      hooks: { drawClear: [(u) => shade(u, spec.bands ?? [])],
        draw: [(u) => { dotted(u, spec.flagged ?? []); mark(u, spec.marks ?? []); }] },
    }, spec.table, place);
    drawn.set(figure, chart);
  }

  // One contender's row has its own columns; several rows are joined on their seconds.
  function joined(rows, names) {
    const tables = rows.map((row) => [row.at, ...names.map((name) => row.series[name] ?? row.at.map(() => null))]);
    if (tables.length === 1) return tables[0];
    return uPlot.join(tables, tables.map((table) => table.map(() => 2)));
  }

  const BENCH = {
    commits: { main: "commits" },
    age: { main: "checkpoint_age", more: [["modified_age", "modified age"]], limits: true },
    capacity: { main: "io_capacity_max", more: [["io_capacity", "C"]], steps: true, log: true },
    pages: { main: "pages_flushed", sync: true },
    device: { main: "device_writes", more: [["device_reads", "device reads"]] },
    latency: { main: "latency_p99" },
  };
  const NAMES = { commits: "commits/s", checkpoint_age: "checkpoint age", io_capacity_max: "M", pages_flushed: "pages flushed", device_writes: "device writes", latency_p99: "latency p99" };

  function benchChart(figure, group, rows) {
    const kind = BENCH[figure.dataset.chart];
    const there = rows.filter((row) => row.series[kind.main]).sort((a, b) => a.contender - b.contender || a.block - b.block);
    if (!there.length) return plot(figure, { lines: [], missing: "Not recorded in the rows chosen." });
    const alone = there.length === 1, oneContender = new Set(there.map((row) => row.contender)).size === 1;
    const manyBlocks = new Set(there.map((row) => row.block)).size > 1;
    const names = [kind.main];
    const extra = alone ? (kind.more ?? []).filter(([name]) => there[0].series[name]) : [];
    names.push(...extra.map(([name]) => name));
    if (alone && kind.sync && there[0].series.sync_pages) names.push("sync_pages");
    const table = joined(there, names).slice();
    const lines = there.flatMap((row) => {
      const paint = colour(oneContender && !alone ? group.blocks.indexOf(row.block) : row.contender);
      const name = group.contenders[row.contender];
      const label = alone ? NAMES[kind.main] : oneContender ? `block ${row.block}` : manyBlocks ? `${name}, block ${row.block}` : name;
      const own = [{ label, stroke: paint, steps: kind.steps, width: group.ours.includes(name) && !oneContender ? 2.5 : 1.5 }];
      extra.forEach(([, title]) => own.push({ label: title, stroke: colour(row.contender === 1 ? 3 : 1), steps: kind.steps, dash: [5, 3] }));
      if (names.includes("sync_pages")) own.push({ label: "of them sync-flushed", stroke: style("--sync"), fill: style("--sync"), bars: true });
      return own;
    });
    if (kind.limits) {
      const limits = new Map();
      for (const row of there) for (const [name, value] of Object.entries(row.limits)) limits.set(`${name} ${value}`, [name, value]);
      for (const [name, value] of limits.values()) {
        if (name === "redo_capacity") continue;
        table.push(table[0].map(() => value));
        lines.push({ label: name.replaceAll("_", " "), stroke: name === "flush_limit" ? style("--soft") : style("--bad"), dash: [8, 4], width: 1.5 });
      }
    }
    const events = new Map(there.flatMap((row) => row.events).map((event) => [event.join(), event]));
    const settled = there.some((row) => row.at[0] < 0);
    const marks = [...(settled ? [[0, "counting begins", style("--soft"), [3, 3]]] : []),
      ...[...events.values()].map(([at, text]) => [at, text, style("--accent"), [6, 3]])].sort((a, b) => a[0] - b[0]);
    const flagged = kind.sync && !alone ? there.map((row, index) => [index + 1, row.at, row.series[kind.main], row.series.sync_pages ?? []]) : [];
    const synced = flagged.some(([, , , sync]) => sync.some((pages) => pages > 0));
    plot(figure, { table, lines, marks, flagged, log: kind.log, key: synced ? "Red dots: seconds with sync flushing." : "" });
  }

  function bench(number) {
    const group = data.groups[number];
    const form = document.querySelector(`form[data-controls="${number}"]`);
    if (!form) return;
    const { contender, block } = form.elements;
    const rows = group.rows.filter((row) => (contender.value === "" || row.contender === +contender.value)
      && (block.value === "" || row.block === +block.value));
    document.querySelectorAll(`figure[data-group="${number}"]`).forEach((figure) => benchChart(figure, group, rows));
  }

  const TRACE = {
    throughput: [["row_changes", "row changes/s", 0], ["commits", "engine commits/s", 1]],
    age: [["checkpoint_age", "checkpoint age", 0], ["modified_age", "modified age", 1],
      ["flush_limit", "flush limit", "--soft", "limit"], ["max_checkpoint_age", "max checkpoint age", "--bad", "limit"]],
    ratio: [["age_ratio", "age ratio", 0], ["set_point", "set-point", 3, "limit"]],
    capacity: [["io_capacity_max", "M", 0, "steps"], ["io_capacity", "C", 1, "steps"]],
    pages: [["pages_flushed", "pages flushed/s", 0], ["lru_pages", "from the LRU tail/s", 5], ["sync_pages", "sync-flushed/s", "--sync", "bars"]],
    dirty: [["dirty_share", "dirty, %", 9], ["dirty_limit", "innodb_max_dirty_pages_pct", "--soft", "limit"]],
    redo: [["redo_rate", "redo, MiB/s", 3]],
    latency: [["write_latency", "mean latency, ms", 4]],
  };

  function traceChart(figure) {
    const trace = data.trace, columns = TRACE[figure.dataset.chart].filter(([name]) => trace.series[name]);
    const at = trace.at.map((second) => trace.began + second);
    const shifted = (marks, paint, dash) => marks.map(([second]) => [trace.began + second, "", paint, dash]);
    plot(figure, {
      time: true,
      log: figure.dataset.chart === "capacity",
      table: [at, ...columns.map(([name]) => trace.series[name])],
      lines: columns.map(([, label, paint, how]) => {
        const stroke = typeof paint === "number" ? colour(paint) : style(paint);
        return { label, stroke, steps: how === "steps" || how === "limit", dash: how === "limit" ? [8, 4] : undefined, bars: how === "bars", fill: how === "bars" ? stroke : undefined };
      }),
      marks: [...shifted(trace.events, style("--line"), [6, 3]), ...shifted(trace.would, style("--mark"), [1, 4]),
        ...shifted(trace.writes, style("--mark"), [])],
      bands: trace.holds.map(([from, to, code]) => [trace.began + from, trace.began + to, code]),
    });
  }

  function draw() {
    if (data.groups) data.groups.forEach((_, number) => bench(number));
    else document.querySelectorAll("figure[data-chart]").forEach(traceChart);
  }

  document.querySelectorAll("form.choose").forEach((form) => {
    form.addEventListener("change", () => bench(+form.dataset.controls));
    form.addEventListener("submit", (event) => event.preventDefault());
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; draw(); } });
  addEventListener("beforeprint", () => { document.documentElement.dataset.print = ""; draw(); });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.print; draw(); });
  draw();
})();
