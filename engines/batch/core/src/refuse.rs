//! What the engine does not do: refused when a model is converted, with the element's name.

use crate::mujoco::{Compiled, Kind};

/// The first thing in a model that is out of scope.
pub(crate) fn refusal(m: &Compiled) -> Option<String> {
    options(m)
        .or_else(|| elements(m))
        .or_else(|| bodies(m))
        .or_else(|| joints(m))
        .or_else(|| actuators(m))
}

fn options(m: &Compiled) -> Option<String> {
    let said = |what: &str| Some(format!("option: {what}"));
    match m.option("integrator") as i32 {
        0 | 3 => {}
        i => {
            let name = ["Euler", "RK4", "implicit", "implicitfast", "discrete"];
            let name = name.get(i as usize).copied().unwrap_or("unknown");
            return said(&format!("integrator {name}; there are Euler and implicitfast"));
        }
    }
    if m.option("solver") != 2.0 {
        return said("a solver that is not Newton");
    }
    if m.option("noslip_iterations") != 0.0 {
        return said("noslip iterations");
    }
    if m.option("density") != 0.0 || m.option("viscosity") != 0.0 {
        return said("a fluid (density or viscosity)");
    }
    if m.option("disableactuator") != 0.0 {
        return said("disabled actuator groups");
    }
    let disabled = m.option("disableflags") as i32;
    for (bit, name) in [(1, "equality"), (5, "spring"), (6, "damper"), (11, "actuation")] {
        if disabled >> bit & 1 != 0 {
            return said(&format!("flag {name} disabled"));
        }
    }
    let enabled = m.option("enableflags") as i32;
    for (bit, name) in [(0, "override"), (4, "sleep"), (5, "diagexact"), (6, "ipc")] {
        if enabled >> bit & 1 != 0 {
            return said(&format!("flag {name} enabled"));
        }
    }
    None
}

fn elements(m: &Compiled) -> Option<String> {
    if m.size("ntendon") > 0 {
        return Some(format!("tendon {}", m.name(Kind::Tendon, 0)));
    }
    if m.size("neq") > 0 {
        return Some(format!("equality constraint {}", m.name(Kind::Equality, 0)));
    }
    for (size, what) in [
        ("nflex", "a flex"),
        ("nmocap", "a mocap body"),
        ("nplugin", "a plugin"),
        ("na", "an actuator with a state of its own"),
    ] {
        if m.size(size) > 0 {
            return Some(what.to_owned());
        }
    }
    (m.size("nv") == 0).then(|| "a model in which nothing moves".to_owned())
}

fn bodies(m: &Compiled) -> Option<String> {
    let gravcomp = m.f64s("body_gravcomp");
    if let Some(b) = gravcomp.iter().position(|g| *g != 0.0) {
        return Some(format!("gravity compensation of body {}", m.name(Kind::Body, b)));
    }
    let (velocity, adhesion) = (m.f64s("geom_surfacevel"), m.f64s("geom_adhesion"));
    for g in 0..m.size("ngeom") {
        if velocity[6 * g..6 * g + 6].iter().any(|v| *v != 0.0) {
            return Some(format!("surface velocity of geom {}", m.name(Kind::Geom, g)));
        }
        if adhesion[g] != 0.0 {
            return Some(format!("adhesion of geom {}", m.name(Kind::Geom, g)));
        }
    }
    None
}

fn joints(m: &Compiled) -> Option<String> {
    let types = m.ints("jnt_type");
    let (limited, stiffness) = (m.ints("jnt_limited"), m.f64s("jnt_stiffness"));
    let poly = m.f64s("jnt_stiffnesspoly");
    let per = poly.len() / types.len().max(1);
    for (j, kind) in types.iter().enumerate() {
        let name = m.name(Kind::Joint, j);
        let turns = *kind == 0 || *kind == 1;
        if turns && limited[j] != 0 {
            return Some(format!("limits of ball joint {name}"));
        }
        if turns && stiffness[j] != 0.0 {
            return Some(format!("spring of free or ball joint {name}"));
        }
        if poly[j * per..(j + 1) * per].iter().any(|p| *p != 0.0) {
            return Some(format!("stiffness polynomial of joint {name}"));
        }
    }
    let (poly, joint) = (m.f64s("dof_dampingpoly"), m.ints("dof_jntid"));
    let per = poly.len() / joint.len().max(1);
    let bent = (0..joint.len()).find(|d| poly[d * per..(d + 1) * per].iter().any(|p| *p != 0.0))?;
    Some(format!("damping polynomial of joint {}", m.name(Kind::Joint, joint[bent] as usize)))
}

fn actuators(m: &Compiled) -> Option<String> {
    let n = m.size("nactuator");
    let (trn, dynamics) = (m.ints("actuator_trntype"), m.ints("actuator_dyntype"));
    let (gain, bias) = (m.ints("actuator_gaintype"), m.ints("actuator_biastype"));
    let (damping, armature) = (m.f64s("actuator_damping"), m.f64s("actuator_armature"));
    let (delay, history) = (m.f64s("actuator_delay"), m.ints("actuator_history"));
    let (target, types) = (m.ints("actuator_trnid"), m.ints("jnt_type"));
    let poly = m.f64s("actuator_dampingpoly");
    let per = poly.len() / n.max(1);
    for a in 0..n {
        let refused =
            |what: &str| Some(format!("{what} of actuator {}", m.name(Kind::Actuator, a)));
        if trn[a] > 1 {
            return refused("a transmission that is no joint");
        }
        if types[target[2 * a] as usize] < 2 {
            return refused("the free or ball joint");
        }
        if dynamics[a] != 0 {
            return refused("dynamics");
        }
        if gain[a] > 1 {
            return refused("a gain beyond affine");
        }
        if bias[a] > 1 {
            return refused("a bias beyond affine");
        }
        if damping[a] != 0.0 || poly[a * per..(a + 1) * per].iter().any(|p| *p != 0.0) {
            return refused("damping");
        }
        if armature[a] != 0.0 {
            return refused("armature");
        }
        if delay[a] != 0.0 || history[2 * a] != 0 {
            return refused("delay or history");
        }
    }
    (m.size("nu") != n || m.size("nout") != n).then(|| "an actuator with several inputs".to_owned())
}
