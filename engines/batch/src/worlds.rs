//! All worlds of a job.

use crate::mjcf::{hinge_of, is_plane, tree_order};
use sim_batch::mujoco::{Compiled, Kind};
use sim_batch::{BatchedEngine, Model, Options};
use sim_engine_harness::{EngineError, Simulation};
use sim_engine_protocol::{
    Approximation, Counters, Pose, Robot, Scene, SettingValue, Translation, Velocity,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The start state of a world, and which bodies are asked about.
pub(crate) struct Start {
    qpos: Vec<f32>,
    qvel: Vec<f32>,
    ctrl: Vec<f32>,
    /// Number in the model of each body that has a pose, in the order of poses.
    bodies: Vec<usize>,
}

fn elliptic(compiled: &Compiled) -> bool {
    compiled.option("cone") != 0.0
}

fn single(v: impl IntoIterator<Item = f64>) -> Vec<f32> {
    v.into_iter().map(|x| x as f32).collect()
}

/// Velocities of one world's dofs at the start: MuJoCo takes a free joint's linear velocity in the world and
/// its angular velocity in the body's frame, and a hinge's as the turn against what it hangs on.
pub fn start_velocities(scene: &Scene) -> Vec<f32> {
    let mut qvel = Vec::new();
    for index in tree_order(scene) {
        let body = &scene.bodies[index];
        if let Some(hinge) = hinge_of(scene, index) {
            let base = hinge.parent.map_or([0.0; 3], |p| scene.bodies[p].angular_velocity);
            let turn = |i: usize| hinge.axis[i] * (body.angular_velocity[i] - base[i]);
            qvel.push((0..3).map(turn).sum());
        } else {
            qvel.extend(body.linear_velocity);
            qvel.extend(body.pose().to_local(body.angular_velocity));
        }
    }
    single(qvel)
}

impl Start {
    /// Positions are the model's reference.
    pub(crate) fn scene(compiled: &Compiled, scene: &Scene) -> Self {
        let mut number = vec![0; scene.bodies.len()];
        for (k, index) in tree_order(scene).into_iter().enumerate() {
            number[index] = k + 1;
        }
        let bodies = scene.dynamic_bodies().map(|(i, _)| number[i]).collect();
        Start {
            qpos: single(compiled.f64s("qpos0")),
            qvel: start_velocities(scene),
            ctrl: Vec::new(),
            bodies,
        }
    }

    /// A keyframe of a robot's model.
    pub(crate) fn robot(
        compiled: &Compiled,
        robot: &Robot,
        key: usize,
    ) -> Result<Self, EngineError> {
        let row =
            |name: &str, n: usize| single(compiled.f64s(name)[key * n..(key + 1) * n].to_vec());
        let find = |name: &str| {
            let id = compiled.id(Kind::Body, name);
            id.ok_or_else(|| EngineError::failed(format!("the robot's model has no {name}")))
        };
        let bodies = robot.links.iter().map(|l| find(&l.name)).collect::<Result<_, _>>()?;
        let size = |name: &str| compiled.size(name);
        Ok(Start {
            qpos: row("key_qpos", size("nq")),
            qvel: row("key_qvel", size("nv")),
            ctrl: row("key_ctrl", size("nu")),
            bodies,
        })
    }
}

pub(crate) struct Worlds {
    engine: BatchedEngine,
    start: Start,
    robot: bool,
    hinges: bool,
    planes: bool,
    rows: usize,
}

impl Worlds {
    pub(crate) fn new(
        model: Arc<Model>,
        worlds: u32,
        options: &Options,
        start: Start,
        scene: &Scene,
    ) -> Result<Self, EngineError> {
        let engine = BatchedEngine::new(model, worlds as usize, options)
            .map_err(|e| EngineError::failed(e.to_string()))?;
        let planes = scene.bodies.iter().any(|b| !b.is_dynamic() && is_plane(b));
        Ok(Worlds {
            engine,
            start,
            robot: scene.robot.is_some(),
            hinges: !scene.hinges.is_empty(),
            planes,
            rows: options.contact_row_cap,
        })
    }

    fn check(&self, world: u32) -> Result<usize, EngineError> {
        let w = world as usize;
        if w >= self.engine.worlds() {
            let n = self.engine.worlds();
            return Err(EngineError::failed(format!("world {world} of {n}")));
        }
        Ok(w)
    }
}

impl Simulation for Worlds {
    fn reset(&mut self) -> Result<(), EngineError> {
        let n = self.engine.worlds();
        let s = &self.start;
        self.engine
            .set_state(&s.qpos.repeat(n), &s.qvel.repeat(n), &s.ctrl.repeat(n))
            .map_err(|e| EngineError::failed(e.to_string()))
    }

    fn step(&mut self, steps: u64) -> Result<(), EngineError> {
        let mut left = steps;
        while left > 0 {
            let now = left.min(1 << 20);
            self.engine.step_n(now as usize);
            left -= now;
        }
        Ok(())
    }

    fn poses(&mut self, world: u32, out: &mut Vec<Pose>) -> Result<(), EngineError> {
        let world = self.check(world)?;
        out.extend(
            self.engine
                .motion(world, &self.start.bodies)
                .into_iter()
                .map(|b| Pose { position: b.position, orientation: b.orientation }),
        );
        Ok(())
    }

    fn velocities(&mut self, world: u32, out: &mut Vec<Velocity>) -> Result<(), EngineError> {
        let world = self.check(world)?;
        out.extend(
            self.engine
                .motion(world, &self.start.bodies)
                .into_iter()
                .map(|b| Velocity { linear: b.linear, angular: b.angular }),
        );
        Ok(())
    }

    fn counters(&self) -> Counters {
        let reports: Vec<_> = (0..self.engine.worlds()).map(|w| self.engine.report(w)).collect();
        let count =
            |f: fn(&sim_batch::Report) -> bool| reports.iter().filter(|r| f(r)).count() as u64;
        let wrong = count(|r| r.not_finite);
        let mut warnings = BTreeMap::new();
        if wrong > 0 {
            warnings.insert("worlds_not_finite".to_owned(), wrong);
        }
        let bodies = self.start.bodies.len() * self.engine.worlds();
        Counters {
            contacts: Some(reports.iter().map(|r| r.contacts as u64).sum()),
            constraints: Some(reports.iter().map(|r| r.rows as u64).sum()),
            solver_iterations: reports.iter().map(|r| r.iterations as u64).max(),
            overflow: Some(count(|r| r.overflow)),
            warnings,
            simulated_bodies: Some(bodies as u64),
            ..Counters::default()
        }
    }

    fn settings(&self) -> BTreeMap<String, SettingValue> {
        let c = self.engine.model().compiled();
        let int = |n: usize| SettingValue::Integer(n as i64);
        let integrator = if c.option("integrator") == 0.0 { "Euler" } else { "implicitfast" };
        BTreeMap::from([
            ("compiler".into(), format!("MuJoCo {}", sim_batch::mujoco::version()).as_str().into()),
            ("cone".into(), if elliptic(c) { "elliptic" } else { "pyramidal" }.into()),
            ("contact_row_cap".into(), int(self.rows)),
            ("impratio".into(), c.option("impratio").into()),
            ("integrator".into(), integrator.into()),
            ("iterations".into(), int(c.option("iterations") as usize)),
            ("lanes".into(), int(self.engine.lanes().width())),
            ("ls_iterations".into(), int(c.option("ls_iterations") as usize)),
            ("sleeping".into(), false.into()),
            ("solver".into(), "Newton".into()),
            ("threads_used".into(), int(self.engine.threads())),
            ("timestep".into(), c.option("timestep").into()),
            ("tolerance".into(), c.option("tolerance").max(1e-6).into()),
            ("worlds".into(), "blocks of lanes, one task each".into()),
        ])
    }

    fn translation(&self) -> Translation {
        let approximate =
            |what: &str, how: &str| Approximation { what: what.into(), how: how.into() };
        let mut exact: Vec<String> = [
            "mass, inertia and shapes, rounded to float32",
            "gravity, timestep, start positions and velocities",
            "no sleeping",
        ]
        .map(String::from)
        .to_vec();
        let mut approximated = vec![
            approximate("state", "float32"),
            approximate(
                "contact",
                "soft constraint as MuJoCo's, with the model's solref and solimp",
            ),
            approximate("friction of a pair", "the larger coefficient, or the geom's of priority"),
        ];
        let soft = "softened as the contact is";
        if elliptic(self.engine.model().compiled()) {
            exact.push(format!("friction cone: elliptic, {soft}"));
        } else {
            let pyramid = format!("pyramid of four sides, {soft}");
            approximated.push(approximate("friction cone", &pyramid));
        }
        if self.planes {
            approximated
                .push(approximate("static boxes 20 m wide and more", "a plane along the top"));
        }
        if self.hinges {
            exact.push("hinges, as joint coordinates: anchors cannot drift".into());
            approximated.push(approximate(
                "start velocity of hinged bodies",
                "the part about the hinge axis; a hinge allows no other",
            ));
        }
        if self.robot {
            exact.push("joints, armature and servos, as joint coordinates".into());
            approximated.push(approximate("joint limits and joint friction", "soft constraints"));
        }
        Translation { exact, approximated, dropped: vec![] }
    }
}
