//! Every pair of shapes against MuJoCo's own contact list over random poses: count, distance, position,
//! normal and tangents (M05, M11, M17).

mod noise;

use noise::Noise;
use sim_batch::mujoco::Contact;
use sim_batch::{BatchedEngine, ContactPoint, Model, Options};
use std::sync::Arc;

const POSES: usize = 3000;

/// Poses of two free bodies, or of one above a plane.
fn pose(noise: &mut Noise, reach: f64) -> [f64; 7] {
    let q: [f64; 4] = std::array::from_fn(|_| noise.normal());
    let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    let p: [f64; 3] = std::array::from_fn(|_| reach * noise.next());
    [p[0], p[1], p[2], q[0] / norm, q[1] / norm, q[2] / norm, q[3] / norm]
}

struct Tally {
    touching: usize,
    points: usize,
    disputed: usize,
    worst: [f64; 3],
}

/// Largest differences of distance, position and frame between two lists, or none where one has a contact
/// that the other lacks. Contacts may come in another order.
fn compare(ours: &[ContactPoint], theirs: &[Contact]) -> Option<[f64; 3]> {
    if ours.len() != theirs.len() {
        return None;
    }
    let mut worst = [0.0f64; 3];
    let mut free: Vec<&ContactPoint> = ours.iter().collect();
    for t in theirs {
        let apart = |o: &ContactPoint| -> f64 {
            (0..3).map(|k| (f64::from(o.position[k]) - t.position[k]).powi(2)).sum::<f64>().sqrt()
        };
        let (i, o) = free.iter().enumerate().min_by(|a, b| apart(a.1).total_cmp(&apart(b.1)))?;
        worst[0] = worst[0].max((f64::from(o.distance) - t.distance).abs());
        worst[1] = worst[1].max(apart(o));
        for k in 0..9 {
            worst[2] = worst[2].max((f64::from(o.frame[k]) - t.frame[k]).abs());
        }
        free.remove(i);
    }
    Some(worst)
}

/// Compares `POSES` random poses. A pose is disputed where the lists differ by more than `tolerance`
/// (distance and position in m); `disputes` says how many of a thousand touching poses may be.
fn check(first: &str, second: &str, reach: f64, tolerance: [f64; 3], disputes: usize) {
    let plane = first.contains("plane");
    let body = |geom: &str| format!("<body><freejoint/><geom {geom} mass='1'/></body>");
    let first_xml = if plane { format!("<geom {first}/>") } else { body(first) };
    let xml = format!(
        "<mujoco><asset>{}</asset><worldbody>{first_xml}{}</worldbody></mujoco>",
        mesh_asset(second),
        body(second)
    );
    let model = Arc::new(Model::from_text(&xml).expect("a model"));
    let mut noise = Noise(7);
    let nq = model.nq();
    let qpos: Vec<f64> = (0..POSES * nq / 7).flat_map(|_| pose(&mut noise, reach)).collect();
    let q32: Vec<f32> = qpos.iter().map(|q| *q as f32).collect();
    let options = Options { contact_row_cap: 1000, ..Options::default() };
    let mut engine = BatchedEngine::new(model.clone(), POSES, &options).expect("an engine");
    engine.set_state(&q32, &vec![0.0; POSES * model.nv()], &[]).expect("a state");
    let mut data = model.compiled().data();
    let mut t = Tally { touching: 0, points: 0, disputed: 0, worst: [0.0; 3] };
    for w in 0..POSES {
        // The state that the engine has, in float64.
        let q: Vec<f64> = q32[w * nq..(w + 1) * nq].iter().map(|x| f64::from(*x)).collect();
        data.set("qpos", &q);
        data.forward();
        let theirs: Vec<Contact> = data.contacts().into_iter().filter(|c| c.exclude == 0).collect();
        let ours = engine.forward(w).contacts;
        t.touching += usize::from(!theirs.is_empty());
        t.points += theirs.len();
        match compare(&ours, &theirs) {
            Some(d) if d.iter().zip(tolerance).all(|(d, t)| *d <= t) => {
                for (w, d) in t.worst.iter_mut().zip(d) {
                    *w = w.max(d);
                }
            }
            other => {
                t.disputed += 1;
                if t.disputed < 4 {
                    println!("pose {w} {q:?}: {other:?}\n  ours {ours:?}\n  theirs {theirs:?}");
                }
            }
        }
    }
    println!(
        "{first} - {second}: {} of {POSES} touch with {} points; worst {:?}; {} disputed",
        t.touching, t.points, t.worst, t.disputed
    );
    assert!(t.touching > POSES / 5 && t.touching < POSES, "{} poses touch", t.touching);
    assert!(t.disputed * 1000 <= disputes * t.touching, "{} disputed poses", t.disputed);
}

/// A rounded body with faces of many corners, where the geom asks for a mesh.
fn mesh_asset(geom: &str) -> String {
    if !geom.contains("mesh") {
        return String::new();
    }
    let (mut at, mut noise) = (String::new(), Noise(3));
    for (z, r, n) in [(-0.2, 0.1, 9), (-0.1, 0.2, 11), (0.1, 0.2, 11), (0.2, 0.12, 7)] {
        for i in 0..n {
            // No two sides alike: in a regular face the widest quadrilateral is a draw.
            let turn = f64::from(i) + 0.3 * noise.next();
            let a = std::f64::consts::TAU * turn / f64::from(n);
            at += &format!("{} {} {z} ", r * a.cos(), 1.3 * r * a.sin());
        }
    }
    format!("<mesh name='round' vertex='{at}'/>")
}

/// Distances and positions in m, and frames, of shapes a few decimetres large.
const FINE: [f64; 3] = [2e-6, 2e-6, 1e-5];
/// Normals of spheres whose centres are close to a surface are short differences.
const ROUND: [f64; 3] = [2e-6, 3e-6, 5e-4];

const PLANE: &str = "type='plane' size='0 0 1' pos='0 0 -.05' euler='10 20 0'";
const SPHERE: &str = "type='sphere' size='.2'";
const CAPSULE: &str = "type='capsule' size='.1 .2'";
const BOX: &str = "type='box' size='.1 .15 .2'";
const CYLINDER: &str = "type='cylinder' size='.15 .2'";
const ELLIPSOID: &str = "type='ellipsoid' size='.1 .15 .2'";

#[test]
fn plane_sphere() {
    check(PLANE, SPHERE, 0.3, FINE, 0);
}

#[test]
fn plane_capsule() {
    check(PLANE, CAPSULE, 0.3, FINE, 2);
}

#[test]
fn plane_ellipsoid() {
    check(PLANE, ELLIPSOID, 0.3, FINE, 0);
}

#[test]
fn plane_cylinder() {
    check(PLANE, CYLINDER, 0.4, FINE, 2);
}

#[test]
fn plane_box() {
    check(PLANE, BOX, 0.3, FINE, 2);
}

#[test]
fn plane_mesh() {
    check(PLANE, "type='mesh' mesh='round'", 0.3, FINE, 2);
}

#[test]
fn sphere_sphere() {
    check(SPHERE, SPHERE, 0.25, ROUND, 0);
}

#[test]
fn sphere_capsule() {
    check(SPHERE, CAPSULE, 0.25, ROUND, 2);
}

#[test]
fn sphere_cylinder() {
    check(SPHERE, CYLINDER, 0.25, ROUND, 4);
}

#[test]
fn sphere_box() {
    check(SPHERE, BOX, 0.25, ROUND, 4);
}

#[test]
fn capsule_capsule() {
    check(CAPSULE, CAPSULE, 0.2, ROUND, 4);
}

#[test]
fn capsule_box() {
    check(CAPSULE, BOX, 0.2, ROUND, 10);
}

#[test]
fn box_box() {
    check(BOX, "type='box' size='.2 .1 .12'", 0.25, ROUND, 10);
}
