//! A run as a capture: scene, poses, and a result of mode `capture`, in the formats of `engines/protocol`, so
//! that the kind `render` draws it like any other.

use sim_engine_protocol::capture::CaptureHeader;
use sim_engine_protocol::{Body, BodyKind, Scene, Shape};
use sim_snake::mjcf::Scene as Place;
use sim_snake::spec::Spec;

/// The files of a replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// `scene.json`.
    pub scene: Vec<u8>,
    /// `capture.bin`.
    pub capture: Vec<u8>,
    /// `result.json`.
    pub result: Vec<u8>,
}

/// What a replay is of.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The snake.
    pub spec: &'a Spec,
    /// Where it was.
    pub place: Place,
    /// Poses of all links' centres, frame after frame.
    pub poses: &'a [f32],
    /// Physics steps between two frames.
    pub steps_per_frame: u32,
    /// Physics step, s.
    pub timestep: f64,
    /// Physics steps that were made.
    pub steps: u64,
    /// Version of the simulator.
    pub version: &'a str,
}

/// Makes a replay. The error says what cannot be written.
pub fn replay(shown: &Shown<'_>) -> Result<Replay, String> {
    let wrong = |e: serde_json::Error| format!("the replay cannot be written as JSON: {e}");
    let scene = scene(shown.spec, shown.place, shown.timestep);
    let text = serde_json::to_vec_pretty(&scene).map_err(wrong)?;
    let bodies = shown.spec.robot.links as u64;
    let frames = shown.poses.len() as u64 / (7 * bodies);
    let header = CaptureHeader {
        bodies,
        frames,
        steps_per_frame: u64::from(shown.steps_per_frame),
        timestep: shown.timestep,
    };
    let mut capture = header.to_bytes().to_vec();
    capture.extend(shown.poses.iter().flat_map(|v| v.to_le_bytes()));
    let result = serde_json::json!({
        "protocol": sim_engine_protocol::PROTOCOL,
        "engine": { "name": "snake", "version": shown.version },
        "backend": "cpu",
        "precision": "double",
        "mode": "capture",
        "outcome": { "status": "ok" },
        "scene": {
            "name": scene.name,
            "digest": blake3::hash(&text).to_hex().to_string(),
            "dynamic_bodies": bodies,
            "static_bodies": scene.bodies.len() as u64 - bodies,
            "hinges": 0,
            "timestep": shown.timestep,
        },
        "worlds": 1,
        "steps": shown.steps,
        "warmup_steps": 0,
        "threads": 1,
        "seed": shown.spec.simulation.seed,
        "phases": {},
        "settings": {},
        "translation": { "exact": [], "approximated": [], "dropped": [] },
        "counters": {},
        "gates": [],
        "capture": {
            "file": "capture.bin",
            "frames": frames,
            "bodies": bodies,
            "steps_per_frame": shown.steps_per_frame,
            "interval_s": shown.timestep * f64::from(shown.steps_per_frame),
            "final_state": {
                "status": "not_compared",
                "reason": "a plant's run is its own capture",
            },
        },
    });
    let result = serde_json::to_vec_pretty(&result).map_err(wrong)?;
    Ok(Replay { scene: text, capture, result })
}

/// The links as boxes on a slab, with the cylinder where it is.
fn scene(spec: &Spec, place: Place, timestep: f64) -> Scene {
    let still = |name: &str, shape: Shape, position: [f64; 3]| Body {
        name: Some(name.to_owned()),
        kind: BodyKind::Static,
        shape,
        mass: 0.0,
        inertia: [0.0; 3],
        position,
        orientation: [1.0, 0.0, 0.0, 0.0],
        linear_velocity: [0.0; 3],
        angular_velocity: [0.0; 3],
        friction: spec.floor.friction_across,
    };
    let slab = Shape::Box { half_extents: [100.0, 100.0, 0.5] };
    let mut bodies = vec![still("ground", slab, [0.0, 0.0, -0.5])];
    if place == Place::ObstacleCourse {
        let o = &spec.obstacle;
        let half_length = 0.5 * o.height_m;
        let [x, y] = o.centre_m;
        let shape = Shape::Cylinder { radius: o.radius_m, half_length };
        bodies.push(still("obstacle", shape, [x, y, half_length]));
    }
    let half_extents = spec.robot.link_box_m.map(|edge| 0.5 * edge);
    for (i, link) in spec.link_names().iter().enumerate() {
        let x = spec.link_centre()[0] - spec.robot.pivot_pitch_m * i as f64;
        bodies.push(Body {
            name: Some(link.clone()),
            kind: BodyKind::Dynamic,
            shape: Shape::Box { half_extents },
            mass: spec.robot.link_mass_kg,
            inertia: spec.link_inertia(),
            position: [x, 0.0, spec.height()],
            ..still("", slab, [0.0; 3])
        });
    }
    Scene {
        format: sim_engine_protocol::SCENE_FORMAT,
        name: format!("{}_{}", spec.robot.name, place.name()),
        gravity: [0.0, 0.0, -9.81],
        timestep,
        contact_free: false,
        bodies,
        hinges: Vec::new(),
        reference: None,
        robot: None,
    }
}
