//! One step against MuJoCo in float64, from states along a motion with random controls: everything up to
//! the accelerations (M02, M03, M17; tolerances of the published tests).

mod models;
mod noise;

use noise::Noise;
use sim_batch::{BatchedEngine, Model, Options};
use std::sync::Arc;

/// Largest difference, relative where the number is above one.
fn far(ours: &[f32], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let off = |(o, t): (&f32, &f64)| (f64::from(*o) - t).abs() / t.abs().max(1.0);
    ours.iter().zip(theirs).map(off).fold(0.0, f64::max)
}

/// Largest difference of forces, relative to a hundredth of the largest: where large forces cancel, as in the
/// vehicle of 1.2 t, float32 has no more (1e-4 then is 1e-6 of the largest).
fn far_forces(ours: &[f32], theirs: &[f64]) -> f64 {
    let largest = theirs.iter().fold(0.0f64, |a, t| a.max(t.abs()));
    let off = |(o, t): (&f32, &f64)| (f64::from(*o) - t).abs() / (0.01 * largest).max(1.0);
    ours.iter().zip(theirs).map(off).fold(0.0, f64::max)
}

fn single(v: &[f64]) -> Vec<f32> {
    v.iter().map(|x| *x as f32).collect()
}

/// Largest differences over some states.
#[derive(Debug, Default)]
struct Worst {
    mass: f64,
    bias: f64,
    smooth: f64,
    jacobian: f64,
    d: f64,
    aref: f64,
    qacc: f64,
    qvel: f64,
    rows: usize,
    contacts: usize,
    borderline: usize,
}

/// Robots begin in their keyframe.
fn to_start(m: &sim_batch::mujoco::Compiled, data: &mut sim_batch::mujoco::Data<'_>) {
    if m.id(sim_batch::mujoco::Kind::Key, "start").is_some() {
        data.set("qpos", &m.f64s("key_qpos"));
        data.set("ctrl", &m.f64s("key_ctrl"));
    }
}

fn compare(name: &str, model: &Arc<Model>, states: usize) -> Worst {
    let m = model.compiled();
    let mut data = m.data();
    let options = Options { contact_row_cap: 2000, ..Options::default() };
    let mut engine = BatchedEngine::new(model.clone(), 1, &options).expect("an engine");
    let mut noise = Noise(11);
    to_start(m, &mut data);
    let home = data.get("ctrl");
    let start: Vec<f64> = data.get("qvel").iter().map(|_| 0.3 * noise.next()).collect();
    data.set("qvel", &start);
    let mut worst = Worst::default();
    for _ in 0..states {
        let ctrl: Vec<f64> = home.iter().map(|u| u + 0.3 * noise.next()).collect();
        data.set("ctrl", &ctrl);
        for _ in 0..10 {
            data.step();
        }
        // From here both have the same numbers.
        for field in ["qpos", "qvel", "ctrl", "qacc_warmstart"] {
            let rounded: Vec<f64> = data.get(field).iter().map(|x| f64::from(*x as f32)).collect();
            data.set(field, &rounded);
        }
        let [qpos, qvel, ctrl] = ["qpos", "qvel", "ctrl"].map(|f| single(&data.get(f)));
        engine.set_state(&qpos, &qvel, &ctrl).expect("a state");
        engine.set_warmstart(&single(&data.get("qacc_warmstart"))).expect("a warm start");
        data.forward();
        let f = engine.forward(0);
        worst.mass = worst.mass.max(far(&f.mass, &data.mass_matrix()));
        worst.bias = worst.bias.max(far_forces(&f.bias, &data.get("qfrc_bias")));
        worst.smooth = worst.smooth.max(far_forces(&f.smooth, &data.get("qfrc_smooth")));
        if f.d.len() != data.rows() {
            // A contact or limit at its margin's edge, within float32.
            worst.borderline += 1;
            continue;
        }
        worst.rows = worst.rows.max(data.rows());
        worst.contacts = worst.contacts.max(f.contacts.len());
        let (jac, d, aref) = reordered(&f, &data.contacts(), model.nv(), m.option("cone") != 0.0);
        worst.jacobian = worst.jacobian.max(far(&jac, &data.jacobian()));
        worst.d = worst.d.max(far(&d, &data.get("efc_D")));
        worst.aref = worst.aref.max(far(&aref, &data.get("efc_aref")));
        engine.step();
        worst.qacc = worst.qacc.max(far(&engine.qacc(), &data.get("qacc")));
        data.step();
        worst.qvel = worst.qvel.max(far(&engine.qvel(), &data.get("qvel")));
    }
    println!("{name}: {worst:?}");
    worst
}

/// Our rows in MuJoCo's order of contacts.
fn reordered(
    f: &sim_batch::Forward,
    theirs: &[sim_batch::mujoco::Contact],
    nv: usize,
    elliptic: bool,
) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let (mut jac, mut d, mut aref) = (f.jacobian.clone(), f.d.clone(), f.aref.clone());
    let mut free: Vec<_> = f.contacts.iter().collect();
    for t in theirs.iter().filter(|t| t.exclude == 0 && t.row >= 0) {
        let apart = |c: &sim_batch::ContactPoint| -> f64 {
            let same = c.geoms == t.geoms || c.geoms == [t.geoms[1], t.geoms[0]];
            let d: f64 = (0..3).map(|k| (f64::from(c.position[k]) - t.position[k]).abs()).sum();
            if same { d } else { 1e9 }
        };
        let nearest = free.iter().enumerate().min_by(|a, b| apart(a.1).total_cmp(&apart(b.1)));
        let (i, c) = nearest.expect("as many contacts");
        assert!(apart(c) < 1e-4, "no contact of ours at {t:?}");
        let dim = t.dim as usize;
        let rows = if dim == 1 || elliptic { dim } else { 2 * (dim - 1) };
        for r in 0..rows {
            let (from, to) = (c.row + r, t.row as usize + r);
            jac[to * nv..(to + 1) * nv].copy_from_slice(&f.jacobian[from * nv..(from + 1) * nv]);
            d[to] = f.d[from];
            aref[to] = f.aref[from];
        }
        free.remove(i);
    }
    (jac, d, aref)
}

#[test]
fn every_model_agrees_with_mujoco() {
    for (name, model) in models::all() {
        let w = compare(name, &model, 40);
        assert!(w.borderline <= 4, "{name}: {} states differ in rows", w.borderline);
        // The vehicle's moments are sums of tonnes times square metres that nearly cancel.
        assert!(w.mass < 2e-5 && w.bias < 1e-4 && w.smooth < 1e-4, "{name}: {w:?}");
        assert!(w.jacobian < 1e-5 && w.aref < 1e-3, "{name}: {w:?}");
        assert!(w.qacc < 1e-2 && w.qvel < 1e-4, "{name}: {w:?}");
    }
}

/// What is kept of contacts to be read is MuJoCo's list: geoms, distances, and forces along the normal, of every
/// world of a block, whatever the cone.
#[test]
fn contacts_that_are_kept_are_mujocos() {
    for (name, model) in models::all() {
        let m = model.compiled();
        let elliptic = m.option("cone") != 0.0;
        let options = Options { contact_row_cap: 400, touches: 40, ..Options::default() };
        let mut e = BatchedEngine::new(model.clone(), 17, &options).expect("an engine");
        let mut data = m.data();
        to_start(m, &mut data);
        let ctrl = single(&data.get("ctrl")).repeat(17);
        let (mut states, mut due) = ([Vec::new(), Vec::new(), Vec::new()], Vec::new());
        for _ in 0..17 {
            for _ in 0..6 {
                data.step();
            }
            for (to, field) in states.iter_mut().zip(["qpos", "qvel", "qacc_warmstart"]) {
                let rounded = single(&data.get(field));
                data.set(field, &rounded.iter().map(|x| f64::from(*x)).collect::<Vec<_>>());
                to.extend(rounded);
            }
            data.forward();
            let force = data.get("efc_force");
            let contacts = data.contacts();
            due.push(
                contacts
                    .iter()
                    .filter(|c| c.exclude == 0 && c.row >= 0)
                    .map(|c| {
                        let (row, dim) = (c.row as usize, c.dim as usize);
                        let one = dim == 1 || elliptic;
                        let rows = if one { 1 } else { 2 * (dim - 1) };
                        let normal: f64 = force[row..row + rows].iter().sum();
                        (c.geoms, c.distance, normal)
                    })
                    .collect::<Vec<_>>(),
            );
        }
        e.set_state(&states[0], &states[1], &ctrl).expect("a state");
        e.set_warmstart(&states[2]).expect("a warm start");
        let before = e.state();
        e.look();
        assert_eq!(e.state(), before, "{name}: looking moves nothing");
        let (mut pushed, mut borderline) = (0, 0);
        for (w, due) in due.iter().enumerate() {
            let ours: Vec<_> = e.touches(w).collect();
            if ours.len() != due.len() {
                // A contact at its margin's edge, within float32.
                borderline += 1;
                continue;
            }
            let most = due.iter().fold(1.0, |a: f64, d| a.max(d.2));
            let mut left = due.clone();
            for t in ours {
                let near = |d: &([usize; 2], f64, f64)| {
                    let same = d.0 == t.geoms || d.0 == [t.geoms[1], t.geoms[0]];
                    let off = (d.1 - f64::from(t.distance)).abs() / 1e-6;
                    same && off + (d.2 - f64::from(t.normal)).abs() / (2e-3 * most) < 1.0
                };
                let i = left.iter().position(near);
                let i = i.unwrap_or_else(|| panic!("{name}: world {w}: {t:?} in {left:?}"));
                pushed += usize::from(left.remove(i).2 > 0.0);
            }
        }
        assert!(borderline <= 1, "{name}: {borderline} worlds differ in contacts");
        assert!(pushed > 10 || name == "hinge field", "{name}: {pushed} contacts pushed");
    }
}

#[test]
fn the_humanoid_at_its_reference_has_32_rows() {
    let Some(model) = models::humanoid() else { return };
    let engine = BatchedEngine::new(model, 1, &Options::default()).expect("an engine");
    let f = engine.forward(0);
    assert_eq!((f.d.len(), f.contacts.len()), (32, 8));
}
