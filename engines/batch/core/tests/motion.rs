//! Motions: against MuJoCo over many steps (M15, M16, M17), closed forms and what is conserved.

mod models;
mod noise;

use noise::Noise;
use sim_batch::{BatchedEngine, Model, Options};
use std::sync::Arc;

fn single(v: &[f64]) -> Vec<f32> {
    v.iter().map(|x| *x as f32).collect()
}

fn far(ours: &[f32], theirs: &[f64]) -> f64 {
    ours.iter().zip(theirs).map(|(o, t)| (f64::from(*o) - t).abs()).fold(0.0, f64::max)
}

/// How far two worlds are from MuJoCo's.
struct Drift {
    qpos: f64,
    qvel: f64,
    /// Steps after which a world had another number of rows or contacts.
    odd: usize,
}

/// Two worlds from noisy starts under random controls, drawn anew at every step.
fn drift(model: &Arc<Model>, steps: usize, seed: u64) -> Drift {
    let worlds = 2;
    let m = model.compiled();
    let mut noise = Noise(seed);
    let mut engine =
        BatchedEngine::new(model.clone(), worlds, &Options::default()).expect("an engine");
    let mut theirs: Vec<_> = (0..worlds).map(|_| m.data()).collect();
    let mut qpos = Vec::new();
    for d in &mut theirs {
        let mut q = d.get("qpos");
        q.iter_mut().skip(7).for_each(|x| *x = f64::from((*x + 0.005 * noise.normal()) as f32));
        d.set("qpos", &q);
        qpos.extend(single(&q));
    }
    let (nq, nv, nu) = (model.nq(), model.nv(), model.nu());
    engine.set_state(&qpos, &vec![0.0; worlds * nv], &vec![0.0; worlds * nu]).expect("a state");
    let mut out = Drift { qpos: 0.0, qvel: 0.0, odd: 0 };
    for _ in 0..steps {
        let ctrl: Vec<f64> =
            (0..worlds * nu).map(|_| f64::from((0.3 * noise.next()) as f32)).collect();
        engine.set_ctrl(&single(&ctrl)).expect("controls");
        engine.step();
        let (q, v) = engine.state();
        for (w, d) in theirs.iter_mut().enumerate() {
            d.set("ctrl", &ctrl[w * nu..(w + 1) * nu]);
            d.step();
            let r = engine.report(w);
            assert!(!r.overflow && !r.not_finite);
            out.odd += usize::from(r.rows != d.rows() || r.contacts != d.contacts().len());
            out.qpos = out.qpos.max(far(&q[w * nq..(w + 1) * nq], &d.get("qpos")));
            out.qvel = out.qvel.max(far(&v[w * nv..(w + 1) * nv], &d.get("qvel")));
        }
    }
    out
}

/// Against float64; a contact or a limit that comes one step earlier in one of them is where float32's noise
/// grows, so the figures are the middle ones of eleven starts.
#[test]
fn the_humanoid_drifts_by_float32_noise() {
    let Some(model) = models::humanoid() else { return };
    let middle = |steps: usize| {
        let mut all: Vec<Drift> = (0..11).map(|seed| drift(&model, steps, seed)).collect();
        let odd = all.iter().filter(|d| d.odd > 0).count();
        all.sort_by(|a, b| a.qpos.total_cmp(&b.qpos));
        let qpos = [all[5].qpos, all[10].qpos];
        all.sort_by(|a, b| a.qvel.total_cmp(&b.qvel));
        let qvel = [all[5].qvel, all[10].qvel];
        println!(
            "{steps} steps: qpos {qpos:?}, qvel {qvel:?} (middle, worst); {odd} with other rows"
        );
        (qpos, qvel, odd)
    };
    let (q, v, odd) = middle(50);
    assert!(q[1] < 1e-4 && v[1] < 3e-3 && v[0] < 3e-4 && odd <= 1, "50 steps: {q:?} {v:?} {odd}");
    let (q, v, odd) = middle(100);
    assert!(q[0] < 3e-5 && v[0] < 3e-3 && odd <= 2, "100 steps: {q:?} {v:?} {odd}");
}

#[test]
fn a_box_mesh_on_a_plane_has_four_contacts_and_stays_with_mujoco() {
    let mut at = String::new();
    for i in 0..8 {
        let s = |bit: i32| if i >> bit & 1 == 0 { -0.1 } else { 0.1 };
        at += &format!("{} {} {} ", s(0), 1.2 * s(1), 0.8 * s(2));
    }
    let xml = format!(
        "<mujoco><option timestep='0.004'/><asset><mesh name='crate' vertex='{at}'/></asset><worldbody>\
         <geom type='plane' size='0 0 1'/><body pos='0 0 .0799'><freejoint/>\
         <geom type='mesh' mesh='crate' mass='1'/></body></worldbody></mujoco>"
    );
    let model = Arc::new(Model::from_text(&xml).expect("a model"));
    let mut data = model.compiled().data();
    let mut engine = BatchedEngine::new(model.clone(), 1, &Options::default()).expect("an engine");
    for _ in 0..50 {
        engine.step();
        data.step();
        assert_eq!((engine.report(0).contacts, engine.report(0).rows), (4, 16));
    }
    let (q, v) = engine.state();
    let (dq, dv) = (far(&q, &data.get("qpos")), far(&v, &data.get("qvel")));
    println!("box mesh: {dq:.2e} {dv:.2e}");
    assert!(dq < 1e-5 && dv < 1e-4, "{dq} {dv}");
}

#[test]
fn a_free_fall_is_the_closed_form_of_the_integrator() {
    let xml = "<mujoco><option timestep='0.01'/><worldbody><body pos='0 0 10'><freejoint/>\
               <geom type='sphere' size='.1' mass='2'/></body></worldbody></mujoco>";
    let model = Arc::new(Model::from_text(xml).expect("a model"));
    let mut engine = BatchedEngine::new(model, 3, &Options::default()).expect("an engine");
    let mut qvel = vec![0.0; 18];
    qvel[6] = 1.5;
    let mut qpos = Vec::new();
    for _ in 0..3 {
        qpos.extend([0.0, 0.0, 10.0, 1.0, 0.0, 0.0, 0.0]);
    }
    engine.set_state(&qpos, &qvel, &[]).expect("a state");
    engine.step_n(100);
    let q = engine.qpos();
    let z = 10.0 - 9.81 * 1e-4 * 100.0 * 101.0 / 2.0;
    for w in 0..3 {
        assert!((f64::from(q[7 * w + 2]) - z).abs() < 2e-5, "world {w}: {}", q[7 * w + 2]);
    }
    assert!((q[7] - 1.5).abs() < 1e-5);
}

/// Momentum, angular momentum about the centre of mass, energy of a chain that floats freely.
fn conserved(engine: &BatchedEngine, masses: &[f64], origins: &[f64]) -> [f64; 7] {
    let f = engine.forward(0);
    let v: Vec<f64> = engine.qvel().iter().map(|x| f64::from(*x)).collect();
    let n = v.len();
    let p: Vec<f64> =
        (0..n).map(|i| (0..n).map(|j| f64::from(f.mass[i * n + j]) * v[j]).sum()).collect();
    let at = |a: &[f32], i: usize| -> [f64; 3] { std::array::from_fn(|k| f64::from(a[3 * i + k])) };
    let mut com = [0.0; 3];
    let total: f64 = masses.iter().sum();
    for (b, mass) in masses.iter().enumerate() {
        let r: Vec<f64> = f.xmat[9 * b..9 * b + 9].iter().map(|x| f64::from(*x)).collect();
        let x = at(&f.xpos, b);
        for k in 0..3 {
            let local: f64 = (0..3).map(|j| r[3 * k + j] * origins[3 * b + j]).sum();
            com[k] += mass * (x[k] + local) / total;
        }
    }
    let r: Vec<f64> = f.xmat[9..18].iter().map(|x| f64::from(*x)).collect();
    let base = at(&f.xpos, 1);
    let l: Vec<f64> = (0..3).map(|k| (0..3).map(|j| r[3 * k + j] * p[3 + j]).sum()).collect();
    let arm: [f64; 3] = std::array::from_fn(|k| com[k] - base[k]);
    let cross = [
        arm[1] * p[2] - arm[2] * p[1],
        arm[2] * p[0] - arm[0] * p[2],
        arm[0] * p[1] - arm[1] * p[0],
    ];
    let energy: f64 = 0.5 * v.iter().zip(&p).map(|(v, p)| v * p).sum::<f64>();
    [p[0], p[1], p[2], l[0] - cross[0], l[1] - cross[1], l[2] - cross[2], energy]
}

/// How far they are from their first values after a second, relative to the largest of their kind.
fn leak(dt: f64) -> (f64, f64, f64) {
    let xml = format!(
        "<mujoco><option timestep='{dt}' gravity='0 0 0'/><worldbody><body><freejoint/>\
         <geom type='box' size='.1 .2 .3' mass='2'/><body pos='.2 0 .3'><joint axis='0 1 .3'/>\
         <geom type='capsule' fromto='0 0 0 .3 0 .1' size='.04' mass='1' contype='0'/>\
         <body pos='.3 0 .1'><joint axis='1 0 0'/><geom type='box' size='.05 .1 .1' pos='0 .1 0' mass='.7' contype='0'/>\
         </body></body></body></worldbody></mujoco>"
    );
    let model = Arc::new(Model::from_text(&xml).expect("a model"));
    let m = model.compiled();
    let (masses, origins) = (m.f64s("body_mass"), m.f64s("body_ipos"));
    let mut engine = BatchedEngine::new(model.clone(), 1, &Options::default()).expect("an engine");
    let qvel = [0.4, -0.2, 0.3, 0.5, -0.7, 0.6, 1.0, -0.8];
    engine.set_state(&model.qpos0(), &qvel, &[]).expect("a state");
    let before = conserved(&engine, &masses, &origins);
    engine.step_n((1.0 / dt) as usize);
    let after = conserved(&engine, &masses, &origins);
    let kind = |from: usize, to: usize| {
        let size = before[from..to].iter().fold(0.0f64, |a, x| a.max(x.abs()));
        let off = (from..to).map(|i| (after[i] - before[i]).abs()).fold(0.0, f64::max);
        off / size
    };
    (kind(0, 3), kind(3, 6), kind(6, 7))
}

#[test]
fn a_floating_chain_keeps_momentum_and_energy() {
    let (p, l, e) = leak(0.002);
    let (p2, l2, e2) = leak(0.0005);
    println!("dt 2 ms: {p:.1e} {l:.1e} {e:.1e}; 0.5 ms: {p2:.1e} {l2:.1e} {e2:.1e}");
    // The integrator is of first order: what leaks goes down with the step.
    assert!(p < 5e-3 && l < 5e-3 && e < 1e-2);
    assert!(p2 < 1.3e-3 && l2 < 1.3e-3 && e2 < 2.6e-3);
}

/// What a sliding crate loses along its way is friction times what the ground gave it upwards, whatever the
/// direction, where the cone is elliptic; along its diagonal a pyramid has less (M06).
#[test]
fn an_elliptic_cone_slows_alike_in_all_directions() {
    let coefficient = |cone: &str, degrees: f64, condim: usize| {
        let xml = format!(
            "<mujoco><option timestep='0.002' cone='{cone}' impratio='20'/><worldbody>\
             <geom type='plane' size='0 0 1' condim='{condim}' friction='.5 .003 .0001'/>\
             <body pos='0 0 .05'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 0'/>\
             <joint type='slide' axis='0 0 1'/><geom type='box' size='.4 .4 .05' mass='2' condim='1' friction='.1'/>\
             </body></worldbody></mujoco>"
        );
        let model = Arc::new(Model::from_text(&xml).expect("a model"));
        let mut e = BatchedEngine::new(model, 3, &Options::default()).expect("an engine");
        let (sin, cos) = degrees.to_radians().sin_cos();
        let velocity = [(4.0 * cos) as f32, (4.0 * sin) as f32, 0.0];
        e.set_state(&e.qpos(), &velocity.repeat(3), &[]).expect("a state");
        e.step_n(200);
        assert!(!e.report(0).not_finite && !e.report(0).overflow);
        let v: Vec<f64> = e.qvel().iter().map(|v| f64::from(*v)).collect();
        assert!(v[0].hypot(v[1]) > 1.0, "{v:?}");
        let lost = 4.0 - (v[0] * cos + v[1] * sin);
        lost / (v[2] + 9.81 * 0.4)
    };
    for degrees in [0.0, 17.0, 45.0, 80.0] {
        for condim in [3, 4, 6] {
            let found = coefficient("elliptic", degrees, condim);
            assert!((found - 0.5).abs() < 1e-4, "{found} at {degrees}°, condim {condim}");
        }
    }
    let (along, across) = (coefficient("pyramidal", 0.0, 3), coefficient("pyramidal", 45.0, 3));
    assert!(
        (along - 0.5).abs() < 1e-3 && (across - 0.5 / 2.0f64.sqrt()).abs() < 1e-3,
        "{along} {across}"
    );
}

#[test]
fn a_minute_of_driving_stays_finite_on_the_ground() {
    let Some(model) = models::vehicle(false) else { return };
    let mut engine = BatchedEngine::new(model.clone(), 16, &Options::default()).expect("an engine");
    let nu = model.nu();
    let ranges = model.compiled().f64s("actuator_ctrlrange");
    let mut ctrl = vec![0.0f32; 16 * nu];
    let steps = (60.0 / model.timestep()) as usize;
    for k in 0..steps / 100 {
        let t = 100.0 * k as f64 * model.timestep();
        for w in 0..16 {
            for a in 0..nu {
                let wave = (t * 0.7 + w as f64 + a as f64 * 0.1).sin();
                ctrl[w * nu + a] = (0.05 * wave * ranges[2 * a + 1]) as f32;
            }
        }
        engine.set_ctrl(&ctrl).expect("controls");
        engine.step_n(100);
    }
    let q = engine.qpos();
    for w in 0..16 {
        let r = engine.report(w);
        assert!(!r.overflow && !r.not_finite, "world {w}: {r:?}");
        let z = q[w * model.nq() + 2];
        assert!((0.2..2.0).contains(&z), "world {w} at height {z}");
    }
}

#[test]
fn robots_stand() {
    for (name, model) in [("T1", models::t1()), ("Go1", models::go1(false))] {
        let Some(model) = model else { return };
        stands(name, &model);
    }
}

fn stands(name: &str, model: &Arc<Model>) {
    let m = model.compiled();
    let mut engine = BatchedEngine::new(model.clone(), 4, &Options::default()).expect("an engine");
    let mut data = m.data();
    let (qpos, ctrl) = (m.f64s("key_qpos"), m.f64s("key_ctrl"));
    data.set("qpos", &qpos);
    data.set("ctrl", &ctrl);
    let repeat = |v: &[f64]| -> Vec<f32> { single(v).repeat(4) };
    engine.set_state(&repeat(&qpos), &vec![0.0; 4 * model.nv()], &repeat(&ctrl)).expect("a state");
    let steps = (5.0 / model.timestep()) as usize;
    engine.step_n(steps);
    for _ in 0..steps {
        data.step();
    }
    let (ours, theirs) = (engine.qpos(), data.get("qpos"));
    println!("{name} after 5 s: base at {:?}, MuJoCo {:?}", &ours[..3], &theirs[..3]);
    for w in 0..4 {
        let r = engine.report(w);
        assert!(!r.overflow && !r.not_finite && r.contacts >= 4, "{r:?}");
        let z = f64::from(ours[w * model.nq() + 2]);
        assert!((z - theirs[2]).abs() < 1e-3, "height {z}, MuJoCo {}", theirs[2]);
    }
}
