// Only comfort: theme, tips, filter, sorting, highlighting. Everything reads without it.
(function () {
  "use strict";
  var root = document.documentElement;
  var stored = function (value) {
    try {
      if (value === undefined) return localStorage.getItem("theme");
      localStorage.setItem("theme", value);
    } catch (e) { /* no storage for files here */ }
    return null;
  };
  var theme = stored();
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;

  function themes() {
    var button = document.querySelector(".theme");
    if (!button) return;
    button.hidden = false;
    button.addEventListener("click", function () {
      var dark = root.dataset.theme ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      stored(root.dataset.theme);
    });
  }

  function tips() {
    var tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    tip.setAttribute("role", "status");
    document.body.appendChild(tip);
    var text = function (target) {
      var el = target.closest && target.closest("[title], [data-tip], svg a");
      if (!el) return null;
      if (el.title) { el.dataset.tip = el.title; el.removeAttribute("title"); }
      if (!el.dataset.tip && el.querySelector) {
        var own = el.querySelector("title");
        if (own) { el.dataset.tip = own.textContent; el.setAttribute("aria-label", own.textContent); own.remove(); }
      }
      return el.dataset.tip ? el : null;
    };
    var show = function (event) {
      var el = text(event.target);
      if (!el) { tip.hidden = true; return; }
      tip.textContent = el.dataset.tip;
      tip.hidden = false;
      var box = el.getBoundingClientRect();
      var left = Math.min(box.left + scrollX, scrollX + root.clientWidth - tip.offsetWidth - 8);
      var below = box.bottom + tip.offsetHeight + 8 < innerHeight;
      tip.style.left = Math.max(8, left) + "px";
      tip.style.top = scrollY + (below ? box.bottom + 5 : box.top - tip.offsetHeight - 5) + "px";
    };
    document.addEventListener("pointerover", show);
    document.addEventListener("focusin", show);
    document.addEventListener("keydown", function (e) { if (e.key === "Escape") tip.hidden = true; });
  }

  function filters() {
    document.querySelectorAll("input[data-filter]").forEach(function (input) {
      input.closest("label").hidden = false;
      var rows = document.querySelectorAll("#" + input.dataset.filter + " tbody tr");
      input.addEventListener("input", function () {
        var words = input.value.toLowerCase().split(/\s+/);
        rows.forEach(function (row) {
          var text = row.textContent.toLowerCase();
          row.hidden = !words.every(function (w) { return text.indexOf(w) >= 0; });
        });
      });
    });
  }

  // Rows are sorted within their scene.
  function sorting() {
    document.querySelectorAll("table.results thead th.eng").forEach(function (head) {
      head.classList.add("sortable");
      head.tabIndex = 0;
      var act = function () {
        var table = head.closest("table");
        var column = Array.prototype.indexOf.call(head.parentNode.children, head);
        var down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("[aria-sort]").forEach(function (h) { h.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var value = function (row) {
          var v = row.children[column].dataset.v;
          return v === undefined ? (down ? -Infinity : Infinity) : parseFloat(v);
        };
        table.querySelectorAll("tbody").forEach(function (body) {
          Array.prototype.slice.call(body.querySelectorAll("tr:not(.group)"))
            .sort(function (a, b) { return (down ? -1 : 1) * (value(a) - value(b)) || 0; })
            .forEach(function (row) { body.appendChild(row); });
        });
      };
      head.addEventListener("click", act);
      head.addEventListener("keydown", function (e) { if (e.key === "Enter") act(); });
    });
  }

  function highlighting() {
    document.querySelectorAll(".legend li").forEach(function (item) {
      var set = function (on) {
        document.querySelectorAll(".panels .chart > g[class]").forEach(function (g) {
          g.classList.toggle("dimmed", on && !g.classList.contains("s" + item.dataset.style));
        });
      };
      item.addEventListener("pointerenter", function () { set(true); });
      item.addEventListener("pointerleave", function () { set(false); });
    });
  }

  function copying() {
    if (!navigator.clipboard) return;
    document.querySelectorAll(".command").forEach(function (box) {
      var button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "copy";
      button.addEventListener("click", function () {
        navigator.clipboard.writeText(box.querySelector("code").textContent)
          .then(function () { button.textContent = "copied"; });
      });
      box.appendChild(button);
    });
  }

  // Scripts that only a replay needs are loaded when a reader asks for one.
  var scripts = {};
  function load(src) {
    if (!scripts[src]) {
      scripts[src] = new Promise(function (done, failed) {
        var script = document.createElement("script");
        script.src = src;
        script.onload = done;
        script.onerror = function () { failed(new Error(src + " could not be loaded")); };
        document.head.appendChild(script);
      });
    }
    return scripts[src];
  }

  function replays() {
    var own = document.querySelector("script[src$='assets/site.js']");
    var assets = own ? own.getAttribute("src").replace(/site\.js$/, "") : "assets/";
    document.querySelectorAll(".open3d").forEach(function (button) {
      var figure = button.closest("figure"), box = figure.querySelector(".in3d");
      var views = Array.prototype.slice.call(figure.querySelectorAll("[data-track]"));
      var rest = figure.querySelectorAll(".views, .film");
      var show = function (on) {
        rest.forEach(function (el) { el.hidden = on; });
        button.hidden = on;
        box.hidden = !on;
      };
      button.hidden = false;
      button.addEventListener("click", function () {
        button.disabled = true;
        load(assets + "vendor/three.js")
          .then(function () { return load(assets + "replay.js"); })
          .then(function () { return Promise.all(views.map(function (v) { return load(v.dataset.src); })); })
          .then(function () {
            show(true);
            SimReplay.open(box, views.map(function (v) {
              return { name: v.dataset.name, style: v.dataset.style, text: SimTracks[v.dataset.track] };
            }), function () { show(false); button.focus(); });
          })
          .catch(function (e) { box.hidden = false; box.textContent = String(e.message || e); })
          .then(function () { button.disabled = false; });
      });
    });
  }

  document.addEventListener("DOMContentLoaded", function () {
    [themes, tips, filters, sorting, highlighting, copying, replays].forEach(function (f) { f(); });
  });
})();
