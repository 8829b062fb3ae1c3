//! What MuJoCo counted, and its effective settings.

use crate::worlds::{Arena, World};
use mujoco_rs::mujoco_c as c;
use sim_engine_protocol::{Counters, SettingValue};
use std::collections::BTreeMap;

const WARNINGS: [(&str, usize); 7] = [
    ("inertia", c::mjtWarning::mjWARN_INERTIA as usize),
    ("contact_full", c::mjtWarning::mjWARN_CONTACTFULL as usize),
    ("constraint_full", c::mjtWarning::mjWARN_CNSTRFULL as usize),
    ("bad_qpos", c::mjtWarning::mjWARN_BADQPOS as usize),
    ("bad_qvel", c::mjtWarning::mjWARN_BADQVEL as usize),
    ("bad_qacc", c::mjtWarning::mjWARN_BADQACC as usize),
    ("bad_ctrl", c::mjtWarning::mjWARN_BADCTRL as usize),
];

/// What MuJoCo counted over all worlds.
pub(crate) fn counters(worlds: &[World]) -> Counters {
    let data = || worlds.iter().map(|w| w.ffi());
    let sum = |f: fn(&c::mjData) -> i32| data().map(|d| u64::try_from(f(d)).unwrap_or(0)).sum();
    let warned = |kind: usize| -> u64 {
        data().map(|d| u64::try_from(d.warning[kind].number).unwrap_or(0)).sum()
    };
    let iterations = |d: &c::mjData| d.solver_niter.iter().copied().max().unwrap_or(0);
    let warnings = WARNINGS.iter().map(|(name, kind)| ((*name).to_owned(), warned(*kind)));
    Counters {
        contacts: Some(sum(|d| d.ncon)),
        constraints: Some(sum(|d| d.nefc)),
        solver_iterations: data().map(|d| u64::try_from(iterations(d)).unwrap_or(0)).max(),
        overflow: Some(warned(WARNINGS[1].1) + warned(WARNINGS[2].1)),
        warnings: warnings.filter(|(_, n)| *n > 0).collect(),
        // The world itself is a body.
        simulated_bodies: Some(sum(|d| d.nbody_awake - 1)),
        // Automatic resets are disabled, so a diverged state stays and fails the gates.
        ..Counters::default()
    }
}

/// The effective settings of a compiled world; `worlds` and `threads` are how all are stepped.
pub(crate) fn settings(
    world: &World,
    arena: Arena,
    worlds: &str,
    threads: usize,
) -> BTreeMap<String, SettingValue> {
    let model = world.model().ffi();
    let o = &model.opt;
    let off = |bit: c::mjtDisableBit| SettingValue::Bool(o.disableflags & bit as i32 == 0);
    // SAFETY: geom_solref and geom_solimp hold 2 and 5 numbers a geom, and there is one.
    let (solref, solimp) = unsafe {
        (
            std::slice::from_raw_parts(model.geom_solref, 2),
            std::slice::from_raw_parts(model.geom_solimp, 5),
        )
    };
    let text = |numbers: &[f64]| {
        SettingValue::Text(numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" "))
    };
    let integrator = match o.integrator {
        0 => "Euler",
        1 => "RK4",
        2 => "implicit",
        _ => "implicitfast",
    };
    let solver = ["PGS", "CG", "Newton"].get(o.solver as usize).copied().unwrap_or("unknown");
    let cone = if o.cone == 0 { "pyramidal" } else { "elliptic" };
    let int = |n: i32| SettingValue::Integer(n.into());
    BTreeMap::from([
        ("arena_bytes".into(), SettingValue::Integer(arena.bytes as i64)),
        ("arena_automatic".into(), arena.automatic.into()),
        ("autoreset".into(), off(c::mjtDisableBit::mjDSBL_AUTORESET)),
        ("ccd_iterations".into(), int(o.ccd_iterations)),
        ("cone".into(), cone.into()),
        ("disableflags".into(), int(o.disableflags)),
        ("enableflags".into(), int(o.enableflags)),
        ("impratio".into(), o.impratio.into()),
        ("integrator".into(), integrator.into()),
        ("islands".into(), off(c::mjtDisableBit::mjDSBL_ISLAND)),
        ("iterations".into(), int(o.iterations)),
        ("jacobian".into(), int(o.jacobian)),
        ("ls_iterations".into(), int(o.ls_iterations)),
        ("ls_tolerance".into(), o.ls_tolerance.into()),
        ("noslip_iterations".into(), int(o.noslip_iterations)),
        ("sleeping".into(), false.into()),
        ("solimp".into(), text(solimp)),
        ("solref".into(), text(solref)),
        ("solver".into(), solver.into()),
        ("threads_used".into(), SettingValue::Integer(threads as i64)),
        ("timestep".into(), o.timestep.into()),
        ("tolerance".into(), o.tolerance.into()),
        ("worlds".into(), worlds.into()),
    ])
}
