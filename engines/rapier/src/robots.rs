//! Robots: Rapier's MJCF loader on the model of the scene, joints in reduced coordinates, one task
//! of a thread pool a world. Needs Rapier without its feature `parallel`.

use rapier3d::prelude::*;
use rapier3d_mjcf::{ContactFilterMode, MjcfLoaderOptions, MjcfMultibodyOptions, MjcfRobot};
use rayon::prelude::*;
use sim_engine_harness::{EngineError, Simulation};
use sim_engine_protocol::{
    Approximation, Counters, Job, Robot, Scene, SettingValue, Translation, Velocity,
};
use std::collections::BTreeMap;

/// Name of the keyframe that a robot starts in.
const START: &str = "start";
/// Solver substeps of a step, and the internal iterations of each (P264).
const SUBSTEPS: i64 = 1;
const ITERATIONS: usize = 4;

/// Loads the model and builds all worlds of a job.
pub(crate) fn worlds(
    scene: &Scene,
    robot: &Robot,
    job: &Job,
) -> Result<Box<dyn Simulation>, EngineError> {
    let recipe = Recipe::new(scene, robot, job)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(job.threads as usize)
        .build()
        .map_err(|e| EngineError::failed(format!("no pool of {} threads: {e}", job.threads)))?;
    let worlds = (0..job.worlds).map(|_| recipe.build()).collect::<Result<_, _>>()?;
    Ok(Box::new(Robots { recipe, worlds, pool }))
}

/// What every world is built from.
struct Recipe {
    loaded: MjcfRobot,
    /// Place of each link among the loader's bodies.
    links: Vec<usize>,
    gravity: Vector,
    timestep: f32,
    substeps: i64,
}

/// One world, and the handles of its links in scene order.
struct World {
    physics: PhysicsWorld,
    links: Vec<RigidBodyHandle>,
}

impl Recipe {
    fn new(scene: &Scene, robot: &Robot, job: &Job) -> Result<Self, EngineError> {
        let options = MjcfLoaderOptions {
            // The loader leaves planes out unless told otherwise.
            skip_plane_geoms: false,
            // contype against conaffinity as MuJoCo has it, so the robot does not meet itself.
            contact_filter_mode: ContactFilterMode::Asymmetric,
            rigid_body_blueprint: RigidBodyBuilder::dynamic()
                .can_sleep(false)
                .linear_damping(0.0)
                .angular_damping(0.0),
            // MuJoCo takes the larger coefficient of a pair.
            collider_blueprint: ColliderBuilder::ball(1.0)
                .density(0.0)
                .restitution(0.0)
                .friction_combine_rule(CoefficientCombineRule::Max),
            ..MjcfLoaderOptions::default()
        };
        let (loaded, _) = MjcfRobot::from_str(&robot.model, options, ".")
            .map_err(|e| EngineError::failed(format!("Rapier does not load the robot: {e:#}")))?;
        let place = |name: &str| {
            let found = loaded.body_name_to_idx.get(name).copied();
            found.ok_or_else(|| EngineError::failed(format!("the robot's model has no {name}")))
        };
        let links = robot.links.iter().map(|l| place(&l.name)).collect::<Result<_, _>>()?;
        if loaded.actuators.iter().any(|a| a.joint_index.is_none()) {
            return Err(EngineError::failed("a servo of the robot drives no joint"));
        }
        Ok(Recipe {
            loaded,
            links,
            gravity: vector(scene.gravity),
            timestep: scene.timestep as f32,
            substeps: crate::adapter::substeps(job, SUBSTEPS)?,
        })
    }

    /// A fresh world in the start state: no contacts, no warm-start impulses.
    fn build(&self) -> Result<World, EngineError> {
        let mut physics = PhysicsWorld { gravity: self.gravity, ..PhysicsWorld::default() };
        let parameters = &mut physics.integration_parameters;
        parameters.dt = self.timestep;
        parameters.num_solver_iterations = self.substeps as usize;
        parameters.num_internal_pgs_iterations = ITERATIONS;
        let robot = &self.loaded;
        let handles = robot.clone().insert_using_multibody_joints(
            &mut physics.bodies,
            &mut physics.colliders,
            &mut physics.multibody_joints,
            &mut physics.impulse_joints,
            MjcfMultibodyOptions::DISABLE_SELF_CONTACTS,
        );
        // Rapier damps every rotation of a multibody unless told otherwise, the base's as well, and the
        // loader tells it only of joints whose damping is not zero.
        for (joint, handle) in robot.joints.iter().zip(&handles.joints) {
            let dropped = || EngineError::failed("a joint of the robot closes a loop");
            let handle = handle.joint.ok_or_else(dropped)?;
            let (multibody, link) = physics.multibody_joints.get_mut(handle).ok_or_else(dropped)?;
            let first = multibody.link(link).ok_or_else(dropped)?.assembly_id();
            multibody.damping_mut()[first] = joint.damping_per_dof;
            if link == 1 {
                // The root comes first, with six coordinates where it is free.
                multibody.damping_mut().rows_mut(0, first).fill(0.0);
            }
        }
        let start = robot.keyframe_by_name(START);
        let start = start.ok_or_else(|| {
            EngineError::failed(format!("the robot's model has no keyframe {START}"))
        })?;
        let (bodies, joints) = (&mut physics.bodies, &mut physics.multibody_joints);
        handles.apply_keyframe(bodies, joints, robot, start);
        handles.apply_controls_multibody(bodies, joints, &robot.keyframe_controls(start));
        let link = |i: &usize| handles.bodies.get(*i).and_then(Option::as_ref).map(|b| b.body);
        let links = self.links.iter().map(link).collect::<Option<_>>();
        let links = links.ok_or_else(|| EngineError::failed("a link of the robot is missing"))?;
        Ok(World { physics, links })
    }
}

/// All worlds of a job.
struct Robots {
    recipe: Recipe,
    worlds: Vec<World>,
    pool: rayon::ThreadPool,
}

impl Simulation for Robots {
    /// Rapier cannot forget contacts and warm-start impulses, so the worlds are built anew.
    fn reset(&mut self) -> Result<(), EngineError> {
        for world in &mut self.worlds {
            *world = self.recipe.build()?;
        }
        Ok(())
    }

    fn step(&mut self, steps: u64) -> Result<(), EngineError> {
        let worlds = &mut self.worlds;
        self.pool.install(|| {
            worlds.par_iter_mut().with_max_len(1).for_each(|world| {
                for _ in 0..steps {
                    world.physics.step();
                }
            });
        });
        Ok(())
    }

    fn poses(
        &mut self,
        world: u32,
        out: &mut Vec<sim_engine_protocol::Pose>,
    ) -> Result<(), EngineError> {
        let World { physics, links } = &self.worlds[world as usize];
        for handle in links {
            // A link that Rapier threw out has no pose; the gate for missing poses says so.
            let Some(body) = physics.bodies.get(*handle) else { continue };
            let (p, q) = (body.translation(), body.rotation());
            out.push(sim_engine_protocol::Pose {
                position: [p.x, p.y, p.z].map(f64::from),
                orientation: [q.w, q.x, q.y, q.z].map(f64::from),
            });
        }
        Ok(())
    }

    fn velocities(&mut self, world: u32, out: &mut Vec<Velocity>) -> Result<(), EngineError> {
        let World { physics, links } = &self.worlds[world as usize];
        for handle in links {
            let Some(body) = physics.bodies.get(*handle) else { continue };
            let (v, w) = (body.linvel(), body.angvel());
            out.push(Velocity {
                linear: [v.x, v.y, v.z].map(f64::from),
                angular: [w.x, w.y, w.z].map(f64::from),
            });
        }
        Ok(())
    }

    fn counters(&self) -> Counters {
        let pairs = || self.worlds.iter().flat_map(|w| w.physics.contact_pairs());
        let points =
            pairs().flat_map(|p| p.manifolds()).map(|m| m.data.solver_contacts.len() as u64);
        let (mut awake, mut simulated) = (0, 0);
        for World { physics, links } in &self.worlds {
            for handle in links {
                let body = physics.bodies.get(*handle).filter(|b| b.is_dynamic() && b.is_enabled());
                simulated += u64::from(body.is_some());
                awake += u64::from(body.is_some_and(|b| !b.is_sleeping()));
            }
            // Rapier's own list of active bodies must agree; the smaller count is believed.
            let listed = physics.active_bodies().filter(|(_, b)| b.is_dynamic()).count();
            awake -= (links.len() as u64).saturating_sub(listed as u64).min(awake);
        }
        Counters {
            contacts: Some(points.sum()),
            awake_bodies: Some(awake),
            simulated_bodies: Some(simulated),
            ..Counters::default()
        }
    }

    fn settings(&self) -> BTreeMap<String, SettingValue> {
        let physics = &self.worlds[0].physics;
        let p = &physics.integration_parameters;
        let int = |n: usize| SettingValue::Integer(n as i64);
        let number = |x: f32| SettingValue::Number(x.into());
        let robots = || physics.multibody_joints.multibodies();
        let damping: Vec<String> =
            robots().flat_map(|m| m.damping().iter()).map(f32::to_string).collect();
        BTreeMap::from([
            (
                "contact_clustering".into(),
                SettingValue::Text(format!("{:?}", p.contact_clustering)),
            ),
            ("contact_recycling".into(), p.contact_recycling.into()),
            ("coriolis".into(), "semi-implicit, explicit where that diverges".into()),
            ("damping".into(), SettingValue::Text(damping.join(" "))),
            ("friction_in_bias_pass".into(), p.friction_in_bias_pass.into()),
            ("friction_model".into(), SettingValue::Text(format!("{:?}", p.friction_model))),
            ("internal_pgs_iterations".into(), int(p.num_internal_pgs_iterations)),
            (
                "internal_stabilization_iterations".into(),
                int(p.num_internal_stabilization_iterations),
            ),
            ("joints".into(), "reduced coordinates".into()),
            ("length_unit".into(), number(p.length_unit)),
            ("reset".into(), "worlds built anew".into()),
            ("robots".into(), "rapier3d-mjcf".into()),
            ("self_contacts".into(), robots().any(|m| m.self_contacts_enabled()).into()),
            ("simd".into(), "4 lanes".into()),
            ("sleeping".into(), false.into()),
            ("substeps".into(), int(p.num_solver_iterations)),
            ("threads_used".into(), int(self.pool.current_num_threads())),
            ("timestep".into(), number(p.dt)),
            ("worlds".into(), "one task each".into()),
        ])
    }

    fn translation(&self) -> Translation {
        let approximate =
            |what: &str, how: &str| Approximation { what: what.into(), how: how.into() };
        let exact = [
            "links, inertias, joints, limits, armature and damping, in reduced coordinates",
            "collision primitives and the floor, as a plane",
            "gravity, start coordinates",
            "no contact of a robot with itself, no sleeping, no damping beside the model's",
        ];
        let approximated = vec![
            approximate("all numbers", "rounded to single precision"),
            approximate(
                "position servos",
                "kp·(target − q) − kv·q̇ as a row of the solver, which is implicit in time; its \
                 impulse stays within the force range",
            ),
            approximate("joint friction", "a row of the solver with a bounded impulse"),
            approximate(
                "contact",
                "soft constraint at Rapier's own frequency and damping instead of the model's solref \
                 and solimp; contacts begin at Rapier's distance instead of the model's margin",
            ),
            approximate("friction of a pair", "the larger of the two coefficients"),
            approximate("integrator and friction cone", "Rapier's own instead of the model's"),
        ];
        Translation { exact: exact.map(String::from).to_vec(), approximated, dropped: vec![] }
    }
}

fn vector(v: [f64; 3]) -> Vector {
    Vector::new(v[0] as f32, v[1] as f32, v[2] as f32)
}
