//! What is drawn: one solid for each collision shape of a scene, the same for every engine; a robot's
//! links have as many as their model gives them, at the links' own origins (P255). Bodies that
//! hang on each other by a hinge which neither shape reaches are joined by thin rods, so that a chain
//! looks like one; nothing collides with a rod.

use crate::vector::{Place, V, add, cross, dot, scale};
use sim_engine_protocol::{Body, LinkShape, Scene, Shape};

/// Radius of a rod, as a part of its body's reach.
const ROD: f32 = 0.4;

/// A shape about the origin of its own frame; lengths in m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    /// Half edges along x, y, z.
    Box(V),
    /// Radius.
    Sphere(f32),
    /// A cylinder along z with half-spheres on its ends: radius, half length of the cylinder.
    Capsule(f32, f32),
    /// A cylinder along z with flat ends: radius, half length.
    Cylinder(f32, f32),
}

/// One thing to draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Solid {
    pub(crate) form: Form,
    /// The pose that moves it, by place in a frame of the capture; `None` where it never moves.
    pub(crate) body: Option<usize>,
    /// Its place in that body's frame, or in the world where nothing moves it: position and quaternion
    /// w, x, y, z.
    pub(crate) local: [f32; 7],
}

/// No offset and no turn.
pub(crate) const HERE: [f32; 7] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];

/// The solids of a scene, bodies that never move among them.
pub(crate) fn solids(scene: &Scene) -> Vec<Solid> {
    let mut moving = 0;
    let mut out = Vec::with_capacity(scene.bodies.len());
    let mut index_of = Vec::with_capacity(scene.bodies.len());
    for body in &scene.bodies {
        let index = body.is_dynamic().then(|| {
            moving += 1;
            moving - 1
        });
        index_of.push(index);
        let local = if index.is_some() { HERE } else { start(body) };
        out.push(Solid { form: form(&body.shape), body: index, local });
    }
    for link in scene.robot.iter().flat_map(|r| &r.links) {
        let body = Some(moving);
        moving += 1;
        let local = |s: &LinkShape| numbers(s.position, s.orientation);
        let solid = |s: &LinkShape| Solid { form: form(&s.shape), body, local: local(s) };
        out.extend(link.shapes.iter().map(solid));
    }
    for hinge in &scene.hinges {
        let Some((parent, child)) = hinge
            .parent
            .and_then(|p| Some((p, scene.bodies.get(p)?)))
            .zip(scene.bodies.get(hinge.body))
        else {
            continue;
        };
        let (parent, on) = parent;
        let far = on.pose().inverse_transform(hinge.anchor);
        out.extend(rod(on, index_of[parent], far));
        out.extend(rod(child, index_of[hinge.body], hinge.anchor_local));
    }
    out
}

fn form(shape: &Shape) -> Form {
    match *shape {
        Shape::Box { half_extents } => Form::Box(half_extents.map(|h| h as f32)),
        Shape::Sphere { radius } => Form::Sphere(radius as f32),
        Shape::Capsule { radius, half_length } => Form::Capsule(radius as f32, half_length as f32),
        Shape::Cylinder { radius, half_length } => {
            Form::Cylinder(radius as f32, half_length as f32)
        }
    }
}

fn start(body: &Body) -> [f32; 7] {
    numbers(body.position, body.orientation)
}

fn numbers(position: [f64; 3], orientation: [f64; 4]) -> [f32; 7] {
    let [x, y, z] = position.map(|v| v as f32);
    let [a, b, c, d] = orientation.map(|v| v as f32);
    [x, y, z, a, b, c, d]
}

/// A rod from a body's centre to a hinge in its frame, where its shape does not reach that far.
fn rod(body: &Body, index: Option<usize>, hinge: [f64; 3]) -> Option<Solid> {
    let to = hinge.map(|v| v as f32);
    let (length, reach) = (dot(to, to).sqrt(), form(&body.shape).reach());
    if length <= reach {
        return None;
    }
    // The shortest turn from z to the rod's direction.
    let d = scale(to, 1.0 / length);
    let turn = if d[2] > -0.999_999 {
        let axis = cross([0.0, 0.0, 1.0], d);
        [1.0 + d[2], axis[0], axis[1], axis[2]]
    } else {
        [0.0, 1.0, 0.0, 0.0]
    };
    let [x, y, z] = scale(to, 0.5);
    let local = [x, y, z, turn[0], turn[1], turn[2], turn[3]];
    Some(Solid { form: Form::Capsule(ROD * reach, 0.5 * length), body: index, local })
}

impl Form {
    /// Half edges of the box around it, in its own frame.
    pub(crate) fn half_extents(&self) -> V {
        match *self {
            Form::Box(h) => h,
            Form::Sphere(r) => [r; 3],
            Form::Capsule(r, l) => [r, r, r + l],
            Form::Cylinder(r, l) => [r, r, l],
        }
    }

    /// Radius of the ball around it.
    pub(crate) fn reach(&self) -> f32 {
        match *self {
            Form::Box(h) => dot(h, h).sqrt(),
            Form::Sphere(r) => r,
            Form::Capsule(r, l) => r + l,
            Form::Cylinder(r, l) => (r * r + l * l).sqrt(),
        }
    }

    /// Where a ray from `o` along `d`, both in the form's frame, meets it from outside first: the
    /// parameter on `d` and the outward normal.
    pub(crate) fn hit(&self, o: V, d: V) -> Option<(f32, V)> {
        match *self {
            Form::Box(h) => slabs(o, d, h),
            Form::Sphere(r) => ball(o, d, r),
            Form::Capsule(r, l) => capsule(o, d, r, l),
            Form::Cylinder(r, l) => cylinder(o, d, r, l),
        }
    }
}

fn ball(o: V, d: V, r: f32) -> Option<(f32, V)> {
    let (a, b, c) = (dot(d, d), dot(o, d), dot(o, o) - r * r);
    let q = b * b - a * c;
    if q < 0.0 {
        return None;
    }
    let t = (-b - q.sqrt()) / a;
    Some((t, scale(add(o, scale(d, t)), 1.0 / r)))
}

fn slabs(o: V, d: V, h: V) -> Option<(f32, V)> {
    let (mut near, mut far, mut axis) = (f32::MIN, f32::MAX, 0);
    for k in 0..3 {
        let step = 1.0 / d[k];
        let (a, b) = ((-h[k] - o[k]) * step, (h[k] - o[k]) * step);
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        if low > near {
            (near, axis) = (low, k);
        }
        if high < far {
            far = high;
        }
    }
    if near > far {
        return None;
    }
    let mut normal = [0.0; 3];
    normal[axis] = if d[axis] > 0.0 { -1.0 } else { 1.0 };
    Some((near, normal))
}

fn cylinder(o: V, d: V, r: f32, l: f32) -> Option<(f32, V)> {
    let a = d[0] * d[0] + d[1] * d[1];
    let b = o[0] * d[0] + o[1] * d[1];
    let q = b * b - a * (o[0] * o[0] + o[1] * o[1] - r * r);
    if q < 0.0 {
        return None;
    }
    if a > 1.0e-12 {
        let t = (-b - q.sqrt()) / a;
        if (o[2] + t * d[2]).abs() <= l {
            return Some((t, [(o[0] + t * d[0]) / r, (o[1] + t * d[1]) / r, 0.0]));
        }
    }
    // The end that looks at the ray's start.
    let side = if d[2] > 0.0 { -1.0 } else { 1.0 };
    let t = (side * l - o[2]) / d[2];
    let (x, y) = (o[0] + t * d[0], o[1] + t * d[1]);
    (x * x + y * y <= r * r).then_some((t, [0.0, 0.0, side]))
}

fn capsule(o: V, d: V, r: f32, l: f32) -> Option<(f32, V)> {
    let a = d[0] * d[0] + d[1] * d[1];
    let b = o[0] * d[0] + o[1] * d[1];
    let q = b * b - a * (o[0] * o[0] + o[1] * o[1] - r * r);
    if q < 0.0 {
        return None;
    }
    if a > 1.0e-12 {
        let t = (-b - q.sqrt()) / a;
        if (o[2] + t * d[2]).abs() <= l {
            return Some((t, [(o[0] + t * d[0]) / r, (o[1] + t * d[1]) / r, 0.0]));
        }
    }
    let end = |z: f32| ball([o[0], o[1], o[2] - z], d, r);
    match (end(-l), end(l)) {
        (Some(a), Some(b)) => Some(if a.0 < b.0 { a } else { b }),
        (a, b) => a.or(b),
    }
}

/// The places of all solids in one frame of a capture; `None` where a pose is not finite.
pub(crate) fn places(solids: &[Solid], poses: &[[f32; 7]]) -> Vec<Option<Place>> {
    let place = |s: &Solid| {
        let local = Place::of(s.local)?;
        match s.body {
            Some(body) => Some(poses.get(body).copied().and_then(Place::of)?.then(&local)),
            None => Some(local),
        }
    };
    solids.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(form: Form, o: V, d: V) -> (f32, V) {
        form.hit(o, d).expect("it is hit")
    }

    #[test]
    fn rays_meet_forms_where_they_should() {
        let down = [0.0, 0.0, -1.0];
        assert_eq!(hit(Form::Sphere(2.0), [0.0, 0.0, 5.0], down), (3.0, [0.0, 0.0, 1.0]));
        let cube = Form::Box([1.0, 2.0, 3.0]);
        assert_eq!(hit(cube, [0.5, 0.5, 5.0], down), (2.0, [0.0, 0.0, 1.0]));
        assert_eq!(hit(cube, [-5.0, 1.0, 1.0], [1.0, 0.0, 0.0]), (4.0, [-1.0, 0.0, 0.0]));
        assert_eq!(cube.hit([1.5, 0.0, 5.0], down), None);
        let capsule = Form::Capsule(1.0, 2.0);
        // Along the axis: the cap; across it: the cylinder; past the end: the cap again.
        assert_eq!(hit(capsule, [0.0, 0.0, 5.0], down), (2.0, [0.0, 0.0, 1.0]));
        assert_eq!(hit(capsule, [-5.0, 0.0, 1.5], [1.0, 0.0, 0.0]), (4.0, [-1.0, 0.0, 0.0]));
        let (t, n) = hit(capsule, [-5.0, 0.0, 2.6], [1.0, 0.0, 0.0]);
        assert!((t - 4.2).abs() < 1e-5 && (n[2] - 0.6).abs() < 1e-5, "{t} {n:?}");
        assert_eq!(capsule.hit([-5.0, 0.0, 3.1], [1.0, 0.0, 0.0]), None);
        let cylinder = Form::Cylinder(1.0, 2.0);
        assert_eq!(hit(cylinder, [0.5, 0.0, 5.0], down), (3.0, [0.0, 0.0, 1.0]));
        assert_eq!(hit(cylinder, [-5.0, 0.0, 1.5], [1.0, 0.0, 0.0]), (4.0, [-1.0, 0.0, 0.0]));
        assert_eq!(cylinder.hit([-5.0, 0.0, 2.1], [1.0, 0.0, 0.0]), None);
        // Over the rim onto the flat end.
        assert_eq!(hit(cylinder, [-1.5, 0.0, 3.0], [1.0, 0.0, -1.0]), (1.0, [0.0, 0.0, 1.0]));
        assert_eq!(cylinder.hit([2.0, 0.0, 5.0], down), None);
    }

    #[test]
    fn only_dynamic_bodies_take_a_pose() {
        let scene = serde_json::json!({
            "format": 1, "name": "s", "gravity": [0, 0, -9.81], "timestep": 0.01, "bodies": [
                {"kind": "static", "shape": {"box": {"half_extents": [9, 9, 0.5]}}, "mass": 0,
                 "inertia": [0, 0, 0], "position": [0, 0, -0.5], "orientation": [1, 0, 0, 0],
                 "linear_velocity": [0, 0, 0], "angular_velocity": [0, 0, 0], "friction": 0.5},
                {"kind": "dynamic", "shape": {"capsule": {"radius": 0.5, "half_length": 1}},
                 "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 4],
                 "orientation": [1, 0, 0, 0], "linear_velocity": [0, 0, 0],
                 "angular_velocity": [0, 0, 0], "friction": 0.5}]});
        let scene: Scene = serde_json::from_value(scene).unwrap();
        let list = solids(&scene);
        assert_eq!((list[0].body, list[1].body), (None, Some(0)));
        let [x, z] = [7.0, 8.0];
        let found = places(&list, &[[x, 0.0, z, 1.0, 0.0, 0.0, 0.0]]);
        assert_eq!(found[0].unwrap().at, [0.0, 0.0, -0.5]);
        assert_eq!(found[1].unwrap().point([0.0, 0.0, 1.0]), [7.0, 0.0, 9.0]);
        assert_eq!(places(&list, &[[f32::INFINITY, 0.0, z, 1.0, 0.0, 0.0, 0.0]])[1], None);
        assert_eq!(list.len(), 2, "no hinge, no rod");
        assert_eq!((list[1].form.reach(), list[1].form.half_extents()), (1.5, [0.5, 0.5, 1.5]));
    }

    /// The links of a free chain are balls of 5 cm, their hinges 25 cm away.
    #[test]
    fn links_that_do_not_reach_their_hinge_are_joined_by_rods() {
        let scene = sim_scenes::find("free_chain").unwrap().generate(4, 7, 1.0 / 240.0).unwrap();
        let list = solids(&scene);
        assert_eq!(list.len(), 4 + 2 * 3);
        let poses: Vec<[f32; 7]> = scene.bodies.iter().map(start).collect();
        let found = places(&list, &poses);
        for (k, hinge) in scene.hinges.iter().enumerate() {
            for rod in [4 + 2 * k, 5 + 2 * k] {
                let Form::Capsule(radius, half) = list[rod].form else { panic!("a rod") };
                assert!((radius - 0.02).abs() < 1e-6 && (half - 0.125).abs() < 1e-6);
                // One of its ends is the hinge.
                let place = found[rod].unwrap();
                let ends = [place.point([0.0, 0.0, half]), place.point([0.0, 0.0, -half])];
                let anchor = hinge.anchor.map(|v| v as f32);
                let near = |p: &V| (0..3).map(|i| (p[i] - anchor[i]).abs()).fold(0.0, f32::max);
                assert!(ends.iter().any(|p| near(p) < 1e-5), "{ends:?} {anchor:?}");
            }
        }
    }

    /// P255: a robot's links have the model's own primitives, where the link's pose puts them.
    #[test]
    fn links_are_drawn_with_their_own_primitives_at_their_origins() {
        let scene = serde_json::json!({
            "format": 2, "name": "r", "gravity": [0, 0, -9.81], "timestep": 0.004, "bodies": [],
            "robot": {"name": "r", "model": "", "standing_height": 1.0,
                "source": {"package": "p", "version": "1", "file": "f", "sha256": "0", "model": "m",
                    "licence": "MIT", "changes": []},
                "links": [
                    {"name": "base", "mass": 1, "position": [0, 0, 1], "orientation": [1, 0, 0, 0],
                     "shapes": []},
                    {"name": "leg", "parent": 0, "mass": 1, "position": [0, 0, 1],
                     "orientation": [1, 0, 0, 0], "shapes": [
                        {"shape": {"cylinder": {"radius": 0.1, "half_length": 0.2}},
                         "position": [0, 0, -0.3], "orientation": [1, 0, 0, 0]},
                        {"shape": {"sphere": {"radius": 0.05}}, "position": [0, 0, -0.6],
                         "orientation": [1, 0, 0, 0]}]}]}});
        let scene: Scene = serde_json::from_value(scene).unwrap();
        let list = solids(&scene);
        assert_eq!(list.iter().map(|s| s.body).collect::<Vec<_>>(), [Some(1), Some(1)]);
        assert_eq!(list[0].form, Form::Cylinder(0.1, 0.2));
        // The leg turned by half a turn about x: its shapes lie above its origin.
        let poses = [[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0]];
        let found = places(&list, &poses);
        for (place, z) in found.iter().zip([1.3, 1.6]) {
            assert!((place.unwrap().at[2] - z).abs() < 1e-6);
        }
    }
}
