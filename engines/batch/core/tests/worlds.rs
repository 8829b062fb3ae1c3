//! Worlds among each other: results to the last bit whatever stands beside them (M10, M24), tables of their
//! own (M08), what is flagged, what is refused (M05).

mod models;
mod noise;

use noise::Noise;
use sim_batch::{BatchedEngine, Lanes, Model, ModelError, Options};
use std::sync::Arc;

/// States of so many worlds, the same for a world however many there are.
fn states(model: &Model, worlds: usize) -> [Vec<f32>; 3] {
    let (mut q, mut v, mut u) = (Vec::new(), Vec::new(), Vec::new());
    let qpos0 = model.qpos0();
    for w in 0..worlds {
        let mut noise = Noise(100 + w as u64);
        q.extend(qpos0.iter().enumerate().map(|(i, x)| {
            // The height of the base, and everything after its pose.
            let by = if i == 2 {
                0.1
            } else if i < 7 {
                0.0
            } else {
                0.05
            };
            x + (by * noise.next()) as f32
        }));
        v.extend((0..model.nv()).map(|_| (0.5 * noise.next()) as f32));
        u.extend((0..model.nu()).map(|_| noise.next() as f32));
    }
    [q, v, u]
}

/// Positions, velocities and rows after so many steps.
fn run(model: &Arc<Model>, worlds: usize, steps: usize, options: &Options) -> Vec<Vec<u32>> {
    let mut e = BatchedEngine::new(model.clone(), worlds, options).expect("an engine");
    let [q, v, u] = states(model, worlds);
    e.set_state(&q, &v, &u).expect("a state");
    for _ in 0..steps {
        e.step();
    }
    bits(&e)
}

fn bits(e: &BatchedEngine) -> Vec<Vec<u32>> {
    let (q, v) = e.state();
    let a = e.qacc();
    let (nq, nv) = (e.model().nq(), e.model().nv());
    (0..e.worlds())
        .map(|w| {
            let r = e.report(w);
            let numbers = q[w * nq..(w + 1) * nq]
                .iter()
                .chain(&v[w * nv..(w + 1) * nv])
                .chain(&a[w * nv..(w + 1) * nv]);
            numbers
                .map(|x| x.to_bits())
                .chain([r.rows as u32, r.contacts as u32, r.iterations as u32])
                .collect()
        })
        .collect()
}

#[test]
fn bits_do_not_depend_on_neighbours_threads_or_lanes() {
    let mut tried = 0;
    for (name, model) in models::all() {
        let options = |lanes, threads| Options {
            lanes: Some(lanes),
            threads,
            contact_row_cap: 400,
            ..Options::default()
        };
        let whole = run(&model, 37, 60, &options(Lanes::One, 1));
        for lanes in Lanes::available() {
            for (worlds, threads) in [(37, 1), (37, 2), (5, 1), (1, 1)] {
                let part = run(&model, worlds, 60, &options(lanes, threads));
                for (w, p) in part.iter().enumerate() {
                    let odd = (0..p.len()).find(|i| p[*i] != whole[w][*i]);
                    let both = odd.map(|i| (i, p[i], whole[w][i]));
                    let at = format!("{name}: world {w} of {worlds}, {lanes:?}, {threads} threads");
                    assert_eq!(both, None, "{at}: number, bits here and alone");
                }
                tried += 1;
            }
        }
        // Many steps in one call are as many calls.
        let mut e = BatchedEngine::new(
            model.clone(),
            37,
            &Options { contact_row_cap: 400, ..Options::default() },
        )
        .expect("an engine");
        let [q, v, u] = states(&model, 37);
        e.set_state(&q, &v, &u).expect("a state");
        e.step_n(60);
        assert!(bits(&e) == whole, "{name}: step_n");
        // Setting the state again starts over.
        e.set_state(&q, &v, &u).expect("a state");
        e.step_n(60);
        assert!(bits(&e) == whole, "{name}: repeated");
    }
    assert!(tried >= 40);
}

#[test]
fn too_many_rows_are_flagged_and_touch_no_other_world() {
    let model = models::pile();
    let few = Options { contact_row_cap: 24, ..Options::default() };
    let many = Options { contact_row_cap: 400, ..Options::default() };
    let mut e = BatchedEngine::new(model.clone(), 20, &few).expect("an engine");
    let mut free = BatchedEngine::new(model.clone(), 20, &many).expect("an engine");
    let [mut q, v, u] = states(&model, 20);
    // Most worlds float far above the ground, a metre apart; every fifth is a pile.
    for w in (0..20).filter(|w| w % 5 != 0) {
        for b in 0..12 {
            q[w * model.nq() + 7 * b + 2] += 10.0 + b as f32;
        }
    }
    for e in [&mut e, &mut free] {
        e.set_state(&q, &v, &u).expect("a state");
        e.step_n(80);
    }
    let (ours, theirs) = (bits(&e), bits(&free));
    for w in 0..20 {
        let r = e.report(w);
        assert_eq!(r.overflow, w % 5 == 0, "world {w}: {r:?}");
        assert!(!free.report(w).overflow && !r.not_finite);
        assert!(r.rows <= 24, "world {w} has {} rows", r.rows);
        assert_eq!(ours[w] == theirs[w], w % 5 != 0, "world {w}");
    }
    e.reset();
    assert!(!e.report(0).overflow, "a reset forgets the flag");
}

/// Worlds put back by a mask are as new, the others as they were; each counts its own steps.
#[test]
fn marked_worlds_begin_anew_and_no_other() {
    for model in [models::features(false), models::pile_elliptic(3)] {
        let options = Options { contact_row_cap: 400, ..Options::default() };
        let engine = || BatchedEngine::new(model.clone(), 21, &options).expect("an engine");
        let [_, v, u] = states(&model, 21);
        let (mut e, mut whole, mut fresh) = (engine(), engine(), engine());
        for e in [&mut e, &mut whole] {
            e.set_state(&e.qpos(), &v, &u).expect("a state");
            e.step_n(40);
        }
        let mask: Vec<bool> = (0..21).map(|w| w % 4 == 1).collect();
        e.reset_worlds(&mask).expect("a mask of 21");
        for e in [&mut e, &mut whole, &mut fresh] {
            e.set_ctrl(&u).expect("controls");
            e.step_n(25);
        }
        let (ours, others, anew) = (bits(&e), bits(&whole), bits(&fresh));
        for w in 0..21 {
            let (due, steps) = if mask[w] { (&anew[w], 25) } else { (&others[w], 65) };
            assert!(ours[w] == *due && e.report(w).steps == steps, "world {w}");
        }
        let short = e.reset_worlds(&mask[..3]).expect_err("three marks");
        assert!(short.to_string().contains("the mask has 3 numbers; 21 worlds need 21"), "{short}");
    }
}

#[test]
fn a_world_that_goes_wrong_is_flagged_and_touches_no_other() {
    let model = models::features(false);
    let mut e = BatchedEngine::new(model.clone(), 20, &Options::default()).expect("an engine");
    let [q, mut v, u] = states(&model, 20);
    e.set_state(&q, &v, &u).expect("a state");
    e.step_n(40);
    let fine = bits(&e);
    v[7 * model.nv() + 3] = f32::NAN;
    e.set_state(&q, &v, &u).expect("a state");
    e.step_n(40);
    let now = bits(&e);
    for w in 0..20 {
        assert_eq!(e.report(w).not_finite, w == 7, "world {w}");
        assert!(w == 7 || now[w] == fine[w], "world {w}");
    }
}

/// A box on a plane, pushed by a servo on a slide, with numbers to vary.
fn sled(gravity: &str, friction: &str, tilt: &str, kp: &str) -> String {
    format!(
        "<mujoco><option timestep='0.004' gravity='0 0 {gravity}'/><worldbody>\
         <geom name='ramp' type='plane' size='0 0 1' axisangle='0 1 0 {tilt}' friction='{friction} .005 .0001'/>\
         <body name='crate' pos='0 0 .12'><freejoint/><geom type='box' size='.1 .1 .1' mass='2' friction='.1 .005 .0001'/>\
         <body pos='0 0 .1'><joint name='j' type='slide' axis='1 0 0' damping='.5'/>\
         <geom type='sphere' size='.04' mass='.5' contype='0' conaffinity='0'/></body></body></worldbody>\
         <actuator><position joint='j' kp='{kp}'/></actuator></mujoco>"
    )
}

#[test]
fn tables_of_a_world_are_as_a_model_of_its_own() {
    let of = |xml: &str| Arc::new(Model::from_text(xml).expect("a model"));
    let model = of(&sled("-9.81", ".8", "0", "50"));
    let variants: [(&str, Arc<Model>); 4] = [
        ("gravity", of(&sled("-3.7", ".8", "0", "50"))),
        ("geom_friction", of(&sled("-9.81", ".2", "0", "50"))),
        ("geom_quat", of(&sled("-9.81", ".8", "20", "50"))),
        ("actuator_gainprm", of(&sled("-9.81", ".8", "0", "90"))),
    ];
    let worlds = 19;
    for (name, other) in &variants {
        let start = |e: &mut BatchedEngine| {
            let q = model.qpos0().repeat(e.worlds());
            let v = vec![0.1; model.nv() * e.worlds()];
            e.set_state(&q, &v, &vec![0.3; e.worlds()]).expect("a state");
        };
        let mut e =
            BatchedEngine::new(model.clone(), worlds, &Options::default()).expect("an engine");
        let field = |m: &Model, name: &str| -> Vec<f32> {
            let c = m.compiled();
            let all = if name == "gravity" { c.option_vec(name) } else { c.f64s(name) };
            let per = if name.ends_with("prm") { all.len().min(3) } else { all.len() };
            all[..per].iter().map(|x| *x as f32).collect()
        };
        let names: &[&str] = if *name == "actuator_gainprm" {
            &["actuator_gainprm", "actuator_biasprm"]
        } else {
            &[name]
        };
        for n in names {
            let (own, odd) = (field(&model, n), field(other, n));
            let rows: Vec<f32> = (0..worlds)
                .flat_map(|w| if w % 3 == 0 { odd.clone() } else { own.clone() })
                .collect();
            e.set_world_tables(n, &rows).expect("tables");
        }
        start(&mut e);
        e.step_n(100);
        let mixed = bits(&e);
        for (m, every) in [(&model, false), (other, true)] {
            let mut alone =
                BatchedEngine::new(m.clone(), 1, &Options::default()).expect("an engine");
            start(&mut alone);
            alone.step_n(100);
            let bits = bits(&alone);
            for w in (0..worlds).filter(|w| (w % 3 == 0) == every) {
                assert!(mixed[w] == bits[0], "{name}: world {w}");
            }
        }
        assert!(mixed[0] != mixed[1], "{name} makes no difference");
    }
}

#[test]
fn a_payload_changes_the_motion_as_mass_does() {
    let model = Arc::new(Model::from_text(&sled("-9.81", ".8", "0", "50")).expect("a model"));
    let mut e = BatchedEngine::new(model.clone(), 2, &Options::default()).expect("an engine");
    let mass = model.compiled().f64s("body_mass");
    let mut rows: Vec<f32> = mass.iter().map(|m| *m as f32).collect();
    rows.extend(mass.iter().map(|m| (3.0 * m) as f32));
    e.set_world_tables("body_mass", &rows).expect("tables");
    // The centre of the slide's force is its own mass: acceleration falls to a third.
    let f = [e.forward(0), e.forward(1)];
    let nv = model.nv();
    let ratio = f[1].mass[0] / f[0].mass[0];
    assert!((ratio - 3.0).abs() < 1e-6, "{ratio}");
    assert!((f[1].bias[2] / f[0].bias[2] - 3.0).abs() < 1e-6);
    assert!((f[1].mass[nv * nv - 1] / f[0].mass[nv * nv - 1] - 3.0).abs() < 1e-6);
}

#[test]
fn bad_requests_are_refused_with_what_to_do() {
    let model = models::pile();
    let mut e = BatchedEngine::new(model.clone(), 2, &Options::default()).expect("an engine");
    let text = |r: Result<(), sim_batch::EngineError>| r.expect_err("a refusal").to_string();
    assert!(
        text(e.set_state(&[0.0; 3], &[], &[])).contains("qpos has 3 numbers; 2 worlds need 168")
    );
    assert!(text(e.set_world_tables("mass", &[])).contains("body_mass"));
    assert!(text(e.set_world_tables("gravity", &[0.0; 5])).contains("6 are due"));
    assert!(text(e.set_world_tables("gravity", &[f32::NAN; 6])).contains("not finite at number 0"));
    let none = BatchedEngine::new(model, 0, &Options::default());
    assert!(none.err().expect("a refusal").to_string().contains("at least 1"));
}

#[test]
fn what_is_out_of_scope_is_refused_by_name() {
    let body = |inner: &str| {
        format!(
            "<worldbody><body name='b'><freejoint/><geom name='g' type='sphere' size='.1'/>{inner}</body></worldbody>"
        )
    };
    let slide = "<worldbody><body name='b'><joint name='j' type='slide'/><geom name='g' type='sphere' size='.1'/></body></worldbody>";
    let cases: Vec<(String, &str)> = vec![
        (format!("<option integrator='RK4'/>{}", body("")), "integrator RK4"),
        (format!("<option solver='PGS'/>{}", body("")), "not Newton"),
        (format!("<option density='1'/>{}", body("")), "fluid"),
        (format!("<option><flag spring='disable'/></option>{}", body("")), "spring disabled"),
        (format!("{slide}<equality><joint name='e' joint1='j'/></equality>"), "equality constraint `e`"),
        (format!("{slide}<tendon><fixed name='t'><joint joint='j' coef='1'/></fixed></tendon>"), "tendon `t`"),
        (format!("{slide}<actuator><general name='a' joint='j' dyntype='filter' dynprm='1'/></actuator>"), "state of its own"),
        (format!("{slide}<actuator><muscle name='a' joint='j' lengthrange='0 1'/></actuator>"), "state of its own"),
        (body("").replace("<body name='b'>", "<body name='b' gravcomp='1'>"), "gravity compensation of body `b`"),
        (
            "<worldbody><body><freejoint/><geom name='e' type='ellipsoid' size='.1 .1 .2'/></body>\
             <body pos='0 0 1'><freejoint/><geom name='c' type='cylinder' size='.1 .1'/></body></worldbody>".to_owned(),
            "contacts between ellipsoid `e` and cylinder `c`",
        ),
        (
            "<worldbody><body><joint name='j' type='ball' range='0 1' limited='true'/><geom size='.1'/></body></worldbody>".to_owned(),
            "limits of ball joint `j`",
        ),
    ];
    for (inner, due) in cases {
        match Model::from_text(&format!("<mujoco>{inner}</mujoco>")) {
            Err(ModelError::Unsupported(what)) => assert!(what.contains(due), "{what}, not {due}"),
            Err(other) => panic!("{due}: {other}"),
            Ok(_) => panic!("{due} was taken"),
        }
    }
    assert!(matches!(Model::from_text("<mujoco><worldbody>"), Err(ModelError::Compile(_))));
}
