//! Compares one forward pass with MuJoCo's on a model file.
use sim_batch::{BatchedEngine, Model, Options};
use std::sync::Arc;
fn diff(name: &str, a: &[f32], b: &[f64]) {
    let mut worst = 0.0f64;
    let mut at = 0;
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        let d = (f64::from(*x) - y).abs();
        if !(d <= worst) { worst = d; at = i; }
    }
    println!("{name}: {} vs {} max abs diff {worst:.3e} at {at} (theirs {:?})", a.len(), b.len(), b.get(at));
}
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let model = Arc::new(Model::from_file(path.as_ref()).unwrap());
    let m = model.compiled();
    let mut e = BatchedEngine::new(model.clone(), 1, &Options::default()).unwrap();
    let mut d = m.data();
    if let Some(q) = std::env::args().nth(2) {
        let steps: usize = q.parse().unwrap();
        for _ in 0..steps { d.step(); }
        let f = |v: Vec<f64>| v.into_iter().map(|x| x as f32).collect::<Vec<_>>();
        e.set_state(&f(d.get("qpos")), &f(d.get("qvel")), &f(d.get("ctrl"))).unwrap();
    }
    d.forward();
    let f = e.forward(0);
    diff("xpos", &f.xpos, &d.get("xpos"));
    diff("xmat", &f.xmat, &d.get("xmat"));
    diff("geom", &f.geom_xpos, &d.get("geom_xpos"));
    diff("M", &f.mass, &d.mass_matrix());
    diff("bias", &f.bias, &d.get("qfrc_bias"));
    diff("passive", &f.passive, &d.get("qfrc_passive"));
    diff("actuator", &f.actuator, &d.get("qfrc_actuator"));
    diff("smooth", &f.smooth, &d.get("qfrc_smooth"));
    diff("qacc_smooth", &f.qacc_smooth, &d.get("qacc_smooth"));
    println!("contacts {} {}, rows {} {}", f.contacts.len(), d.contacts().len(), f.d.len(), d.rows());
    for c in &f.contacts { println!("  ours {:?} {} {:?} {:?}", c.geoms, c.distance, c.position, c.frame); }
    for c in d.contacts() { println!("  mj {:?} {} {:?} {:?} dim {} excl {}", c.geoms, c.distance, c.position, c.frame, c.dim, c.exclude); }
    if f.d.len() == d.rows() {
        diff("J", &f.jacobian, &d.jacobian());
        diff("D", &f.d, &d.get("efc_D"));
        diff("aref", &f.aref, &d.get("efc_aref"));
    }
    e.step();
    diff("qacc", &e.qacc(), &d.get("qacc"));
    d.step();
    diff("qpos", &e.qpos(), &d.get("qpos"));
    diff("qvel", &e.qvel(), &d.get("qvel"));
    println!("{:?}", e.report(0));
}
