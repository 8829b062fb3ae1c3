//! Rigid bodies: worlds one after the other, each step on the whole thread pool. Needs Rapier's feature
//! `parallel`.

use crate::world::{SUBSTEPS, World, build, pool};
use sim_engine_harness::{EngineError, Simulation};
use sim_engine_protocol::{
    Approximation, Counters, Job, Pose, Scene, SettingValue, Translation, Velocity,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Builds all worlds of a job.
pub(crate) fn worlds(scene: &Scene, job: &Job) -> Result<Box<dyn Simulation>, EngineError> {
    let substeps = crate::adapter::substeps(job, SUBSTEPS)?;
    let pool = pool(job.threads)?;
    let worlds = (0..job.worlds).map(|_| build(scene, substeps, &pool)).collect();
    Ok(Box::new(Serial { scene: scene.clone(), substeps, pool, worlds }))
}

/// All worlds of a job, stepped one after the other; each step may use the whole pool.
struct Serial {
    scene: Scene,
    substeps: i64,
    pool: Arc<rayon::ThreadPool>,
    worlds: Vec<World>,
}

impl Simulation for Serial {
    /// Rapier cannot forget contacts and warm-start impulses, so the worlds are built anew.
    fn reset(&mut self) -> Result<(), EngineError> {
        for world in &mut self.worlds {
            *world = build(&self.scene, self.substeps, &self.pool);
        }
        Ok(())
    }

    /// The loop runs on a worker of the pool: called from outside, every step would first wake
    /// one, which costs more than a small world's step.
    fn step(&mut self, steps: u64) -> Result<(), EngineError> {
        let worlds = &mut self.worlds;
        self.pool.install(|| {
            for world in worlds {
                for _ in 0..steps {
                    world.physics.step();
                }
            }
        });
        Ok(())
    }

    fn poses(&mut self, world: u32, out: &mut Vec<Pose>) -> Result<(), EngineError> {
        let World { physics, bodies } = &self.worlds[world as usize];
        for handle in bodies {
            // A body that Rapier threw out has no pose; the gate for missing poses says so.
            let Some(body) = physics.bodies.get(*handle) else { continue };
            let (p, q) = (body.translation(), body.rotation());
            out.push(Pose {
                position: [p.x, p.y, p.z].map(f64::from),
                orientation: [q.w, q.x, q.y, q.z].map(f64::from),
            });
        }
        Ok(())
    }

    fn velocities(&mut self, world: u32, out: &mut Vec<Velocity>) -> Result<(), EngineError> {
        let World { physics, bodies } = &self.worlds[world as usize];
        for handle in bodies {
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
        for World { physics, bodies } in &self.worlds {
            for handle in bodies {
                let body = physics.bodies.get(*handle).filter(|b| b.is_enabled());
                simulated += u64::from(body.is_some());
                awake += u64::from(body.is_some_and(|b| !b.is_sleeping()));
            }
            // Rapier's own list of active bodies must agree; the smaller count is believed.
            let listed = physics.active_bodies().filter(|(_, b)| b.is_dynamic()).count();
            awake -= (bodies.len() as u64).saturating_sub(listed as u64).min(awake);
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
        BTreeMap::from([
            (
                "contact_clustering".into(),
                SettingValue::Text(format!("{:?}", p.contact_clustering)),
            ),
            ("contact_recycling".into(), p.contact_recycling.into()),
            ("friction_in_bias_pass".into(), p.friction_in_bias_pass.into()),
            ("friction_model".into(), SettingValue::Text(format!("{:?}", p.friction_model))),
            ("internal_pgs_iterations".into(), int(p.num_internal_pgs_iterations)),
            (
                "internal_stabilization_iterations".into(),
                int(p.num_internal_stabilization_iterations),
            ),
            ("length_unit".into(), number(p.length_unit)),
            ("reset".into(), "worlds built anew".into()),
            ("simd".into(), "4 lanes".into()),
            ("sleeping".into(), false.into()),
            ("substeps".into(), int(p.num_solver_iterations)),
            ("threads_used".into(), int(physics.num_threads().unwrap_or(0))),
            ("timestep".into(), number(p.dt)),
            ("worlds".into(), "serial".into()),
        ])
    }

    fn translation(&self) -> Translation {
        let approximate =
            |what: &str, how: &str| Approximation { what: what.into(), how: how.into() };
        let mut approximated = vec![
            approximate("all numbers", "rounded to single precision"),
            approximate("contact", "soft constraint at Rapier's default frequency and damping"),
            approximate("friction of a pair", "the mean of the two coefficients"),
        ];
        if !self.scene.hinges.is_empty() {
            approximated.push(approximate(
                "hinges",
                "impulse joints, to an empty fixed body where they hold to the world: anchors may \
                 drift a little",
            ));
        }
        let exact = [
            "shapes and sizes",
            "mass and diagonal inertia",
            "gravity",
            "start poses and velocities",
            "zero damping and restitution, no sleeping",
        ];
        Translation { exact: exact.map(String::from).to_vec(), approximated, dropped: vec![] }
    }
}
