// The interactive replay: captures of one scene in WebGL, one clock, engines side by side or overlaid.
// A classic script, so that it works from a folder; site.js loads it when a reader asks for it.
(function () {
  "use strict";
  const HEAD = 84, SOLID = 52;
  const SKY = 0x2f343c, GROUND = [0x565a61, 0x4d5157];

  // ---- tracks: the layout stands in stages/render/src/track.rs ----

  function bytes(text) {
    const raw = atob(text), out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return out;
  }

  function parse(text) {
    const data = bytes(text), view = new DataView(data.buffer);
    if (String.fromCharCode.apply(null, data.subarray(0, 8)) !== "SIMTRK02") throw new Error("this is no track");
    const f32 = (at, n) => Array.from({ length: n }, (_, k) => view.getFloat32(at + 4 * k, true));
    const bodies = view.getUint32(8, true), frames = view.getUint32(12, true), count = view.getUint32(16, true);
    const solids = [];
    for (let i = 0; i < count; i++) {
      const at = HEAD + i * SOLID;
      solids.push({
        body: view.getInt32(at, true), form: view.getUint32(at + 4, true), size: f32(at + 8, 3),
        place: f32(at + 20, 7), color: view.getUint32(at + 48, true),
      });
    }
    const start = HEAD + count * SOLID, turns = start + bodies * frames * 6;
    if (data.length !== turns + bodies * frames * 8) throw new Error("this track is cut short");
    return {
      bodies, frames, solids, low: f32(32, 3), high: f32(44, 3), eye: f32(56, 3), target: f32(68, 3),
      follows: view.getUint32(80, true) === 1,
      cell: view.getFloat32(20, true), interval: view.getFloat64(24, true),
      at: new Uint16Array(data.buffer.slice(start, turns)), turn: new Int16Array(data.buffer.slice(turns)),
    };
  }

  // The pose of a body in a frame: position into `p`, orientation into `q`; false where it is not finite.
  function pose(track, frame, body, p, q) {
    const i = frame * track.bodies + body, t = track.turn;
    if (t[4 * i] === -32768) return false;
    const lerp = (k) => track.low[k] + (track.high[k] - track.low[k]) * track.at[3 * i + k] / 65535;
    p.set(lerp(0), lerp(1), lerp(2));
    q.set(t[4 * i + 1], t[4 * i + 2], t[4 * i + 3], t[4 * i]).normalize();
    return true;
  }

  // Medians of x and of y of all bodies in a frame, which a camera that goes with them is relative to; as before
  // where none has a place.
  function middle(track, frame, s) {
    const x = [], y = [];
    for (let body = 0; track.follows && body < track.bodies; body++) {
      if (pose(track, frame, body, s.p, s.q)) { x.push(s.p.x); y.push(s.p.y); }
    }
    if (x.length) {
      track.middle = [x, y].map(function (list) {
        list.sort(function (a, b) { return a - b; });
        return 0.5 * (list[Math.floor((list.length - 1) / 2)] + list[Math.floor(list.length / 2)]);
      });
    }
    return track.middle || [0, 0];
  }

  // ---- one engine's scene ----

  function checker() {
    const n = 64, data = new Uint8Array(n * n * 4);
    for (let i = 0; i < n * n; i++) {
      const odd = ((i % n < n / 2) !== (Math.floor(i / n) < n / 2)), c = GROUND[odd ? 0 : 1];
      data.set([c >> 16, (c >> 8) & 255, c & 255, 255], 4 * i);
    }
    const texture = new THREE.DataTexture(data, n, n);
    texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
    texture.colorSpace = THREE.SRGBColorSpace;
    texture.magFilter = THREE.LinearFilter;
    texture.minFilter = THREE.LinearMipmapLinearFilter;
    texture.generateMipmaps = true;
    texture.anisotropy = 8;
    texture.needsUpdate = true;
    return texture;
  }

  // Primitives of unit size; a capsule is a tube and two balls, so that all sizes share a geometry.
  function parts(solid) {
    const s = solid.size;
    if (solid.form === 0) return [{ kind: "box", scale: s.map((x) => 2 * x), offset: 0 }];
    if (solid.form === 1) return [{ kind: "ball", scale: [s[0], s[0], s[0]], offset: 0 }];
    if (solid.form === 3) return [{ kind: "drum", scale: [s[0], s[0], 2 * s[1]], offset: 0 }];
    return [
      { kind: "tube", scale: [s[0], s[0], 2 * s[1]], offset: 0 },
      { kind: "ball", scale: [s[0], s[0], s[0]], offset: s[1] },
      { kind: "ball", scale: [s[0], s[0], s[0]], offset: -s[1] },
    ];
  }

  function geometry(kind) {
    if (kind === "box") return new THREE.BoxGeometry(1, 1, 1);
    if (kind === "ball") return new THREE.SphereGeometry(1, 24, 16);
    const tube = new THREE.CylinderGeometry(1, 1, 1, 24, 1, kind === "tube");
    tube.rotateX(Math.PI / 2);
    return tube;
  }

  // A recording that is no engine's is grey; it takes the hue that the page gives it, shade for shade.
  function tint(track, style) {
    const grey = (c) => { const p = [c >> 16, (c >> 8) & 255, c & 255]; return Math.max(...p) - Math.min(...p) < 24; };
    const moving = track.solids.filter((s) => s.body >= 0);
    const hue = getComputedStyle(document.documentElement).getPropertyValue("--c" + style).trim();
    if (!hue || !moving.every((s) => grey(s.color))) return;
    const of = new THREE.Color(hue).getHSL({}), color = new THREE.Color();
    moving.forEach(function (solid) {
      const l = color.setHex(solid.color).getHSL({}).l;
      solid.color = color.setHSL(of.h, of.s, 0.6 * l + 0.4 * of.l).getHex();
    });
  }

  function build(track) {
    const scene = new THREE.Scene(), fixed = [], groups = {};
    scene.add(new THREE.AmbientLight(0xffffff, 1.5));
    const sun = new THREE.DirectionalLight(0xffffff, 2.1);
    scene.add(sun, sun.target);
    track.solids.forEach(function (solid) {
      if (solid.body < 0) { fixed.push(solid); return; }
      parts(solid).forEach(function (part) {
        (groups[part.kind] = groups[part.kind] || []).push({ solid, part });
      });
    });
    const ground = fixed.map(function (solid) { return still(scene, solid, track.cell); });
    const moving = Object.keys(groups).map(function (kind) {
      const list = groups[kind];
      const mesh = new THREE.InstancedMesh(geometry(kind), new THREE.MeshLambertMaterial(), list.length);
      mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
      mesh.frustumCulled = false;
      mesh.castShadow = mesh.receiveShadow = true;
      const color = new THREE.Color();
      list.forEach(function (item, i) { mesh.setColorAt(i, color.setHex(item.solid.color)); });
      scene.add(mesh);
      return { mesh, list };
    });
    return { track, scene, sun, ground, moving, shown: -1 };
  }

  function still(scene, solid, cell) {
    const group = parts(solid).map(function (part) {
      let material = new THREE.MeshLambertMaterial({ color: GROUND[0] });
      if (part.kind === "box") {
        const top = checker();
        top.repeat.set(part.scale[0] / (2 * cell), part.scale[1] / (2 * cell));
        // The pattern is fixed in the world, as in the pictures.
        const shift = (k) => ((solid.place[k] - solid.size[k]) / (2 * cell)) % 1;
        top.offset.set(shift(0), shift(1));
        const plain = material;
        material = [plain, plain, plain, plain, new THREE.MeshLambertMaterial({ map: top }), plain];
      }
      const mesh = new THREE.Mesh(geometry(part.kind), material), p = solid.place;
      mesh.quaternion.set(p[4], p[5], p[6], p[3]);
      mesh.position.set(0, 0, part.offset).applyQuaternion(mesh.quaternion);
      mesh.position.x += p[0]; mesh.position.y += p[1]; mesh.position.z += p[2];
      mesh.scale.set(part.scale[0], part.scale[1], part.scale[2]);
      mesh.receiveShadow = true;
      scene.add(mesh);
      return mesh;
    });
    return group;
  }

  // Points the sun at what the camera looks at when it is moved by `m` along the ground.
  function aim(view, m) {
    const t = view.track.target, x = t[0] + m[0], y = t[1] + m[1], far = 3 * view.radius;
    view.sun.target.position.set(x, y, t[2]);
    view.sun.position.set(x + 0.36 * far, y - 0.48 * far, t[2] + 0.8 * far);
  }

  function light(view, radius, shadows) {
    const sun = view.sun;
    view.radius = radius;
    aim(view, [0, 0]);
    sun.castShadow = shadows;
    const c = sun.shadow.camera;
    c.left = c.bottom = -radius; c.right = c.top = radius; c.near = radius; c.far = 6 * radius;
    sun.shadow.mapSize.set(2048, 2048);
    sun.shadow.normalBias = radius / 500;
  }

  const scratch = {};
  function place(view, frame) {
    if (view.shown === frame) return;
    view.shown = frame;
    const s = scratch;
    view.moving.forEach(function (group) {
      group.list.forEach(function (item, i) {
        const there = pose(view.track, frame, item.solid.body, s.p, s.q), l = item.solid.place;
        // The part in the solid, the solid in its body, the body in the world.
        s.t.set(l[4], l[5], l[6], l[3]).normalize();
        s.v.set(0, 0, item.part.offset).applyQuaternion(s.t);
        s.v.x += l[0]; s.v.y += l[1]; s.v.z += l[2];
        s.v.applyQuaternion(s.q).add(s.p);
        s.s.fromArray(there ? item.part.scale : [0, 0, 0]);
        group.mesh.setMatrixAt(i, s.m.compose(s.v, s.q.multiply(s.t), s.s));
      });
      group.mesh.instanceMatrix.needsUpdate = true;
    });
  }

  // ---- the player ----

  function element(tag, attributes, children) {
    const el = document.createElement(tag);
    Object.keys(attributes || {}).forEach(function (name) {
      if (name in el && typeof attributes[name] !== "string") el[name] = attributes[name];
      else el.setAttribute(name, attributes[name]);
    });
    (children || []).forEach(function (child) { el.append(child); });
    return el;
  }

  // How far the same bodies of two engines are from each other now: median and largest, m.
  function apart(a, b, time) {
    const far = [], s = scratch;
    for (let i = 0; i < Math.min(a.track.bodies, b.track.bodies); i++) {
      if (!pose(a.track, frameAt(a.track, time), i, s.p, s.q) || !pose(b.track, frameAt(b.track, time), i, s.v, s.q)) continue;
      far.push(s.p.distanceTo(s.v));
    }
    far.sort(function (x, y) { return x - y; });
    return far.length ? [far[far.length >> 1], far[far.length - 1]] : null;
  }

  function frameAt(track, time) {
    return Math.max(0, Math.min(track.frames - 1, Math.floor(time / track.interval + 1e-6)));
  }

  function length(m) {
    const two = function (x) { return x < 10 ? x.toPrecision(2) : x.toFixed(0); };
    return m === 0 ? "0 mm" : m < 1e-3 ? two(m * 1e6) + " µm" : m < 1 ? two(m * 1e3) + " mm" : m < 100 ? m.toPrecision(3) + " m" : m.toFixed(0) + " m";
  }

  // Shows the tracks `[{ name, style, text }]` in `box`; `closed` is called when the reader is done.
  function open(box, list, closed) {
    Object.assign(scratch, {
      p: new THREE.Vector3(), v: new THREE.Vector3(), s: new THREE.Vector3(),
      q: new THREE.Quaternion(), t: new THREE.Quaternion(), m: new THREE.Matrix4(),
    });
    const canvas = element("canvas", { tabindex: "0", role: "img" });
    let renderer;
    try {
      renderer = new THREE.WebGLRenderer({ canvas, antialias: true });
    } catch (e) {
      box.replaceChildren(element("p", { class: "note" }, ["This browser gives no WebGL; the pictures show the same."]));
      return;
    }
    renderer.autoClear = false;
    renderer.setClearColor(SKY);
    renderer.shadowMap.enabled = true;
    renderer.shadowMap.type = THREE.PCFShadowMap;
    const views = list.map(function (item) {
      const track = parse(item.text);
      tint(track, item.style);
      return Object.assign(build(track), { name: item.name, style: item.style, on: true });
    });
    const first = views[0].track, last = Math.max.apply(null, views.map(function (v) {
      return (v.track.frames - 1) * v.track.interval;
    }));
    const distance = new THREE.Vector3().fromArray(first.eye).distanceTo(new THREE.Vector3().fromArray(first.target));
    views.forEach(function (v) { light(v, distance * 0.5, v.track.bodies <= 3000); });
    const camera = new THREE.PerspectiveCamera(30, 1.6, distance / 200, distance * 40);
    camera.up.set(0, 0, 1);
    const orbit = new THREE.OrbitControls(camera, canvas);
    // A finger that moves up or down scrolls the page; one that moves sideways turns the view.
    canvas.style.touchAction = "pan-y";
    function home() {
      camera.position.fromArray(first.eye);
      orbit.target.fromArray(first.target);
      orbit.update();
    }
    home();

    const state = { time: 0, playing: false, speed: 1, overlaid: false, closed: false };
    const play = element("button", { type: "button", class: "play" });
    const scrub = element("input", { type: "range", min: "0", max: String(last), step: "any", "aria-label": "Simulated time" });
    const clock = element("output", { class: "clock" });
    const speed = element("select", { "aria-label": "Speed" }, [["1", "1×"], ["0.5", "½×"], ["0.25", "¼×"], ["0.1", "⅒×"]].map(function (o) {
      return element("option", { value: o[0] }, [o[1]]);
    }));
    const mode = element("select", { "aria-label": "Arrangement" }, [element("option", { value: "side" }, ["side by side"]), element("option", { value: "over" }, ["overlaid"])]);
    const reset = element("button", { type: "button" }, ["Reset view"]);
    const close = element("button", { type: "button" }, ["Close"]);
    const gap = element("p", { class: "gap note" });
    const names = element("div", { class: "names" });
    const engines = views.map(function (view) {
      const tick = element("input", { type: "checkbox", checked: true });
      tick.addEventListener("change", function () { view.on = tick.checked; arrange(); draw(); });
      return element("label", { class: "engine s" + view.style }, [tick, element("i", {}), view.name]);
    });
    const stage = element("div", { class: "stage" }, [canvas, names]);
    const controls = element("div", { class: "controls" }, [play, scrub, clock, speed].concat(views.length > 1 ? [mode].concat(engines) : []).concat([reset, close]));
    box.replaceChildren(stage, controls, gap);
    const help = "Space plays and stops, comma and full stop step by a frame, arrow keys turn the view, plus and minus zoom.";
    canvas.setAttribute("aria-label", "Interactive replay of " + views.map(function (v) { return v.name; }).join(" and ") + ". " + help);
    controls.append(element("span", { class: "dim keys" }, [help]));

    function active() { return views.filter(function (v) { return v.on; }); }

    function arrange() {
      const on = active(), columns = state.overlaid ? 1 : Math.max(1, on.length), narrow = box.clientWidth < 560;
      state.columns = narrow ? 1 : columns;
      state.rows = narrow ? columns : 1;
      const width = box.clientWidth, height = Math.round(Math.min(width / state.columns / 1.6, 520) * state.rows);
      renderer.setPixelRatio(state.ratio || Math.min(devicePixelRatio || 1, 2));
      renderer.setSize(width, height);
      camera.aspect = (width / state.columns) / (height / state.rows);
      camera.updateProjectionMatrix();
      names.replaceChildren.apply(names, state.overlaid ? [] : on.map(function (v, i) {
        const label = element("span", { class: "s" + v.style }, [v.name]);
        label.style.left = (i % state.columns) / state.columns * 100 + "%";
        label.style.top = Math.floor(i / state.columns) / state.rows * 100 + "%";
        return label;
      }));
    }

    function draw() {
      if (state.closed) return;
      const on = active(), size = { w: canvas.clientWidth, h: canvas.clientHeight };
      renderer.setScissorTest(true);
      renderer.setViewport(0, 0, size.w, size.h);
      renderer.setScissor(0, 0, size.w, size.h);
      renderer.clear();
      on.forEach(function (view, i) {
        const cell = state.overlaid ? 0 : i, w = size.w / state.columns, h = size.h / state.rows;
        const x = (cell % state.columns) * w, y = size.h - (Math.floor(cell / state.columns) + 1) * h;
        renderer.setViewport(x, y, w, h);
        renderer.setScissor(x, y, w, h);
        const over = state.overlaid && i > 0;
        view.ground.forEach(function (group) { group.forEach(function (mesh) { mesh.visible = !over; }); });
        view.moving.forEach(function (g) {
          const material = g.mesh.material, glassy = state.overlaid && on.length > 1;
          if (material.transparent !== glassy) { material.transparent = glassy; material.needsUpdate = true; }
          material.opacity = glassy ? 0.62 : 1;
        });
        place(view, frameAt(view.track, state.time));
        // Overlaid scenes share the first one's middle, so that what is apart looks apart.
        const of = state.overlaid ? on[0] : view, m = middle(of.track, frameAt(of.track, state.time), scratch);
        view.scene.position.set(-m[0], -m[1], 0);
        aim(view, m);
        renderer.render(view.scene, camera);
      });
      scrub.value = state.time;
      clock.textContent = state.time.toFixed(2) + " / " + last.toFixed(2) + " s";
      scrub.setAttribute("aria-valuetext", state.time.toFixed(2) + " s of " + last.toFixed(2));
      const far = on.length === 2 ? apart(on[0], on[1], state.time) : null;
      gap.textContent = far ? "Now the same bodies of " + on[0].name + " and " + on[1].name + " are " + length(far[0]) + " apart in the median, " + length(far[1]) + " at most." : "";
    }

    let before = 0, slow = 0;
    // Without a graphics processor: no shadows and fewer pixels rather than a stutter.
    function ease() {
      renderer.shadowMap.enabled = false;
      views.forEach(function (v) {
        v.sun.castShadow = false;
        v.scene.traverse(function (o) { [].concat(o.material || []).forEach(function (m) { m.needsUpdate = true; }); });
      });
      state.ratio = 1;
      arrange();
    }
    function tick(now) {
      if (!state.playing || state.closed) return;
      slow = before && now - before > 120 ? slow + 1 : 0;
      if (slow === 4 && !state.ratio) ease();
      if (before) state.time += Math.min(0.1, (now - before) / 1000) * state.speed;
      before = now;
      if (state.time > last + 0.6 * state.speed) state.time = 0;
      const real = state.time;
      state.time = Math.min(real, last);
      draw();
      state.time = real;
      requestAnimationFrame(tick);
    }

    function set(playing) {
      state.playing = playing;
      play.textContent = playing ? "❚❚" : "▶";
      play.setAttribute("aria-label", playing ? "Stop" : "Play");
      before = 0;
      if (playing) {
        if (state.time >= last) state.time = 0;
        requestAnimationFrame(tick);
      } else { state.time = Math.min(state.time, last); draw(); }
    }

    function step(frames) {
      set(false);
      state.time = Math.max(0, Math.min(last, (frameAt(first, state.time) + frames) * first.interval));
      draw();
    }

    function turn(x, y, zoom) {
      const arm = scratch.v.copy(camera.position).sub(orbit.target), s = scratch;
      arm.applyQuaternion(s.q.setFromAxisAngle(s.p.set(0, 0, 1), x));
      const side = s.p.copy(camera.up).cross(arm).normalize(), tilted = s.s.copy(arm).applyQuaternion(s.q.setFromAxisAngle(side, y));
      if (Math.abs(tilted.z) < 0.98 * tilted.length()) arm.copy(tilted);
      camera.position.copy(orbit.target).add(arm.multiplyScalar(zoom));
      orbit.update();
      draw();
    }

    play.addEventListener("click", function () { set(!state.playing); });
    scrub.addEventListener("input", function () { set(false); state.time = Number(scrub.value); draw(); });
    speed.addEventListener("change", function () { state.speed = Number(speed.value); });
    mode.addEventListener("change", function () { state.overlaid = mode.value === "over"; arrange(); draw(); });
    reset.addEventListener("click", function () { home(); draw(); });
    orbit.addEventListener("change", function () { if (!state.playing) draw(); });
    // The wheel scrolls the page, unless the reader is working in the view.
    canvas.addEventListener("wheel", function (e) {
      if (document.activeElement !== canvas) e.stopImmediatePropagation();
    }, { capture: true, passive: true });
    canvas.addEventListener("keydown", function (e) {
      const keys = {
        " ": function () { set(!state.playing); }, ",": function () { step(-1); }, ".": function () { step(1); },
        Home: function () { step(-1e9); }, End: function () { step(1e9); },
        ArrowLeft: function () { turn(-0.1, 0, 1); }, ArrowRight: function () { turn(0.1, 0, 1); },
        ArrowUp: function () { turn(0, -0.08, 1); }, ArrowDown: function () { turn(0, 0.08, 1); },
        "+": function () { turn(0, 0, 0.9); }, "=": function () { turn(0, 0, 0.9); }, "-": function () { turn(0, 0, 1 / 0.9); },
      };
      if (keys[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) { keys[e.key](); e.preventDefault(); }
    });
    const sized = new ResizeObserver(function () { arrange(); draw(); });
    sized.observe(box);
    close.addEventListener("click", function () {
      state.closed = true;
      sized.disconnect();
      orbit.dispose();
      renderer.dispose();
      renderer.forceContextLoss();
      box.replaceChildren();
      closed();
    });
    arrange();
    // Nothing moves by itself for readers who asked for that.
    set(!matchMedia("(prefers-reduced-motion: reduce)").matches);
    canvas.focus({ preventScroll: true });
  }

  window.SimReplay = { open, parse };
})();
