//! All worlds of a job: environments of one state, stepped together.

use crate::adapter::substeps;
use crate::capacity::{COLORS, Capacity, PAIRS, SLOTS};
use crate::device::{self, Device, broken};
use crate::robots::{self, Recipe};
use crate::{profile, rigid};
use khal::backend::Backend;
use nexus3d::prelude::{NexusPipeline, NexusPipelineMask, NexusState};
use nexus3d::rapier::prelude::RigidBodyHandle;
use nexus3d::rbd::pipeline::RbdState;
use nexus3d::rbd::shaders::dynamics::Velocity as NexusVelocity;
use pollster::block_on;
use sim_engine_harness::{EngineError, Profiled, Simulation};
use sim_engine_protocol::{
    Approximation, BufferUse, CAPACITY_SAMPLES_FORMAT, CapacitySamples, Counters, Job, Mode, Pose,
    Scene, SettingValue, Translation, Velocity,
};
use std::collections::BTreeMap;

/// Steps after which colours are read: before its first readback Nexus floors large scenes at 32 or 64
/// (P036).
const SETTLED: u64 = 16;

/// All worlds of a job.
pub(crate) struct Worlds {
    device: Device,
    scene: Scene,
    robot: Option<Recipe>,
    worlds: u32,
    mode: Mode,
    substeps: u32,
    capacity: Capacity,
    /// Files of compiled shaders that set-up had to add to those compiled ahead; none where nobody counts.
    compiled: Option<usize>,
    pipeline: NexusPipeline,
    state: NexusState,
    /// Dynamic bodies of an environment in scene order; the same in all.
    bodies: Vec<RigidBodyHandle>,
    /// Poses of all environments, once read since the last step.
    poses: Option<Vec<nexus3d::rbd::math::Pose>>,
    velocities: Option<Vec<NexusVelocity>>,
    /// Demand of every step since the reset, in a capture.
    samples: [Vec<u64>; 2],
}

/// Has the driver of a job's backend compile the shaders of rigid bodies, which are the same for all scenes:
/// software drivers do so when a shader is first run, so a few steps are taken. `job` is a job's document
/// in `folder`, of which backend and scene matter.
pub fn compile(job: &[u8], folder: &std::path::Path) -> Result<(), EngineError> {
    #[derive(serde::Deserialize)]
    struct Head {
        backend: String,
        scene: String,
    }
    let wrong = |what: &str, e: &dyn std::fmt::Display| EngineError::failed(format!("{what}: {e}"));
    let head: Head = serde_json::from_slice(job).map_err(|e| wrong("the job", &e))?;
    let text = std::fs::read(folder.join(&head.scene)).map_err(|e| wrong(&head.scene, &e))?;
    let scene: Scene = serde_json::from_slice(&text).map_err(|e| wrong(&head.scene, &e))?;
    let job: Job = serde_json::from_value(serde_json::json!({
        "protocol": sim_engine_protocol::PROTOCOL, "mode": "calibrate", "scene": head.scene,
        "worlds": 1, "steps": SETTLED, "warmup": 0, "threads": 1, "seed": 0, "backend": head.backend
    }))
    .map_err(|e| wrong("the job", &e))?;
    let mut worlds = Worlds::new(&scene, &job)?;
    worlds.calibrate(SETTLED).map(drop)
}

/// All compute pipelines of rigid bodies.
fn shaders(device: &Device) -> Result<NexusPipeline, EngineError> {
    let mut pipeline = NexusPipeline::default();
    pipeline
        .preload_pipelines(&device.backend, NexusPipelineMask::RBD)
        .map_err(broken("compiling the shaders"))?;
    Ok(pipeline)
}

impl Worlds {
    pub(crate) fn new(scene: &Scene, job: &Job) -> Result<Self, EngineError> {
        rigid::check(scene)?;
        let robot = scene.robot.as_ref().map(|r| Ok((Recipe::new(r)?, r))).transpose()?;
        let colliders = match &robot {
            Some((recipe, robot)) => recipe.colliders(robot, scene),
            None => rigid::colliders(scene),
        };
        let usual = if robot.is_some() { robots::SUBSTEPS } else { rigid::SUBSTEPS };
        let capacity = Capacity::of(job, colliders)?;
        let device = device::open(&job.backend)?;
        let before = crate::cache::kept();
        let pipeline = shaders(&device)?;
        let compiled = before.zip(crate::cache::kept()).map(|(b, a)| a.saturating_sub(b));
        let mut worlds = Self {
            compiled: compiled.filter(|_| job.backend != "cpu"),
            device,
            scene: scene.clone(),
            robot: robot.map(|(recipe, _)| recipe),
            worlds: job.worlds,
            mode: job.mode,
            substeps: substeps(job, usual)?,
            capacity,
            pipeline,
            state: NexusState::new(capacity.capacities()),
            bodies: Vec::new(),
            poses: None,
            velocities: None,
            samples: [Vec::new(), Vec::new()],
        };
        worlds.rebuild()?;
        Ok(worlds)
    }

    /// A fresh state: no contacts, no warm-start impulses, no colours.
    fn rebuild(&mut self) -> Result<(), EngineError> {
        let backend = &self.device.backend;
        let mut state = NexusState::new(self.capacity.capacities());
        for _ in 1..self.worlds {
            state.add_environment();
        }
        for env in 0..self.worlds as usize {
            self.bodies = match &self.robot {
                Some(recipe) => recipe.insert(&self.scene, &mut state, env)?,
                None => rigid::insert(&self.scene, &mut state, env),
            };
        }
        state.set_rbd_timestep(self.scene.timestep as f32, self.substeps);
        if self.robot.is_some() {
            state.set_rbd_num_internal_pgs_iterations(backend, robots::ITERATIONS);
            // P265.
            state.set_rbd_implicit_coriolis(backend, false);
            state.set_rbd_substep_refresh(false, false);
        }
        block_on(state.finalize(backend)).map_err(broken("building the worlds"))?;
        // Of no effect before there is a state on the device.
        state.set_rbd_gravity(backend, self.scene.gravity.map(|g| g as f32));
        self.state = state;
        (self.poses, self.velocities) = (None, None);
        self.samples = [Vec::new(), Vec::new()];
        Ok(())
    }

    fn rbd(&self) -> Result<&RbdState, EngineError> {
        self.state.rbd.as_ref().ok_or_else(|| EngineError::failed("Nexus holds no rigid bodies"))
    }

    /// Pairs and contact slots that the last step asked for, over all worlds, past the capacity too.
    fn demand(&self) -> Result<[u64; 2], EngineError> {
        let (rbd, backend) = (self.rbd()?, &self.device.backend);
        let pairs = rbd.collision_pairs_len_gpu().buffer();
        let slots = rbd.multibodies().mb_cons_demand().buffer();
        let mut found = [0; 2];
        for (place, buffer) in found.iter_mut().zip([pairs, slots]) {
            let counter: Vec<u32> =
                block_on(backend.slow_read_vec(buffer)).map_err(broken("a buffer's counter"))?;
            *place = counter.iter().map(|n| u64::from(*n)).sum();
        }
        Ok(found)
    }

    fn capacities(&self) -> Result<[u64; 2], EngineError> {
        let rbd = self.rbd()?;
        Ok([rbd.collision_pairs_capacity(), rbd.mb_contact_constraints_capacity()].map(u64::from))
    }

    /// What the last step asked of buffers that cannot grow.
    fn buffers(&self) -> Result<BTreeMap<String, BufferUse>, EngineError> {
        let (capacities, demands) = (self.capacities()?, self.demand()?);
        let uses = capacities.into_iter().zip(demands);
        let uses = uses.map(|(capacity, demand)| BufferUse { capacity, demand });
        let mut map: BTreeMap<String, BufferUse> =
            [PAIRS, SLOTS].map(String::from).into_iter().zip(uses).collect();
        let rbd = self.rbd()?;
        let capacity = u64::from(rbd.max_colors());
        // A constraint that found no colour has one past the budget, or none.
        let colors = rbd.debug_constraint_colors(&self.device.backend);
        let used = colors.iter().map(|c| u64::from(c.3)).max().unwrap_or(0);
        map.insert(COLORS.into(), BufferUse { capacity, demand: used.min(capacity + 1) });
        Ok(map)
    }

    fn advance(&mut self) -> Result<(), EngineError> {
        block_on(self.pipeline.simulate(&self.device.backend, &mut self.state, None))
            .map_err(broken("a step"))
    }

    fn slot(&self, world: u32, handle: RigidBodyHandle) -> Option<usize> {
        self.state.rigid_body_gpu_index(world as usize, handle).map(|i| i as usize)
    }
}

impl Simulation for Worlds {
    /// Nexus has no reset that forgets contacts and colours, so the state is built anew.
    fn reset(&mut self) -> Result<(), EngineError> {
        self.rebuild()
    }

    fn step(&mut self, steps: u64) -> Result<(), EngineError> {
        (self.poses, self.velocities) = (None, None);
        if self.mode != Mode::Capture {
            for _ in 0..steps {
                self.advance()?;
            }
            return Ok(());
        }
        for _ in 0..steps {
            self.advance()?;
            let demand = self.demand()?;
            for (list, demand) in self.samples.iter_mut().zip(demand) {
                list.push(demand);
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), EngineError> {
        self.device.backend.synchronize().map_err(broken("waiting for the device"))
    }

    fn profile(&mut self, steps: u64) -> Result<Profiled, EngineError> {
        (self.poses, self.velocities) = (None, None);
        profile::profile(&self.device, &mut self.pipeline, &mut self.state, steps)
    }

    /// P034 to P036.
    fn calibrate(&mut self, steps: u64) -> Result<BTreeMap<String, u64>, EngineError> {
        (self.poses, self.velocities) = (None, None);
        let (mut peaks, mut colors) = ([0; 2], 0);
        for step in 1..=steps {
            self.advance()?;
            self.sync()?;
            let room = self.capacities()?;
            for ((peak, demand), room) in peaks.iter_mut().zip(self.demand()?).zip(room) {
                if demand > room {
                    return Err(EngineError::failed(format!(
                        "step {step} asked for {demand} entries of a buffer of {room}: what found no \
                         room was dropped, so later demands mean nothing"
                    )));
                }
                *peak = (*peak).max(demand);
            }
            if step > SETTLED || step == steps {
                colors = colors.max(u64::from(self.rbd()?.max_colors()));
            }
        }
        let worlds = u64::from(self.worlds);
        let [pairs, slots] = peaks.map(|peak: u64| peak.div_ceil(worlds));
        Ok([(PAIRS, pairs), (SLOTS, slots), (COLORS, colors)]
            .map(|(name, peak)| (name.to_owned(), peak))
            .into())
    }

    fn capacity_samples(&mut self) -> Result<Option<CapacitySamples>, EngineError> {
        let names = || [PAIRS, SLOTS].map(String::from).into_iter();
        Ok(Some(CapacitySamples {
            format: CAPACITY_SAMPLES_FORMAT,
            capacities: names().zip(self.capacities()?).collect(),
            demands: names().zip(self.samples.iter().cloned()).collect(),
        }))
    }

    fn poses(&mut self, world: u32, out: &mut Vec<Pose>) -> Result<(), EngineError> {
        if self.poses.is_none() {
            self.poses = Some(block_on(self.state.read_rigid_body_poses(&self.device.backend)));
        }
        let poses = self.poses.as_deref().unwrap_or_default();
        for handle in &self.bodies {
            // A body that Nexus lost has no pose; the gate for missing poses says so.
            let slot = self.slot(world, *handle);
            let Some(pose) = slot.and_then(|i| poses.get(i)) else { continue };
            let (p, q) = (pose.translation, pose.rotation);
            out.push(Pose {
                position: [p.x, p.y, p.z].map(f64::from),
                orientation: [q.w, q.x, q.y, q.z].map(f64::from),
            });
        }
        Ok(())
    }

    fn velocities(&mut self, world: u32, out: &mut Vec<Velocity>) -> Result<(), EngineError> {
        if self.velocities.is_none() {
            let read = self.state.read_rigid_body_velocities(&self.device.backend);
            self.velocities = Some(block_on(read));
        }
        let velocities = self.velocities.as_deref().unwrap_or_default();
        for handle in &self.bodies {
            let slot = self.slot(world, *handle);
            let Some(found) = slot.and_then(|i| velocities.get(i)) else { continue };
            let (v, w) = (found.linear, found.angular);
            out.push(Velocity {
                linear: [v.x, v.y, v.z].map(f64::from),
                angular: [w.x, w.y, w.z].map(f64::from),
            });
        }
        Ok(())
    }

    fn counters(&self) -> Counters {
        // Nexus has no sleeping: what has a slot on the device is simulated.
        let there = |world| self.bodies.iter().filter(move |h| self.slot(world, **h).is_some());
        let simulated = (0..self.worlds).map(|world| there(world).count() as u64).sum();
        let mut counters = Counters { simulated_bodies: Some(simulated), ..Counters::default() };
        // Nexus's list of contacts keeps those of earlier steps behind the present ones, so they are counted
        // by their constraints; those of multibodies have no list that can be read.
        if let (Ok(rbd), None) = (self.rbd(), &self.robot) {
            let constraints = rbd.debug_constraint_colors(&self.device.backend);
            counters.contacts = Some(constraints.iter().map(|c| u64::from(c.4)).sum());
        }
        if self.capacity.fixed {
            match self.buffers() {
                Ok(buffers) => {
                    let lost = buffers.values().map(|b: &BufferUse| b.overflow()).sum();
                    counters.overflow = Some(lost);
                    counters.buffers = buffers;
                }
                // Counters that cannot be read prove no room: the run fails.
                Err(e) => {
                    counters.overflow = Some(1);
                    counters.warnings.insert(format!("counters unread: {}", e.reason), 1);
                }
            }
        }
        counters
    }

    fn settings(&self) -> BTreeMap<String, SettingValue> {
        let mut map: BTreeMap<String, SettingValue> = BTreeMap::from([
            ("capacity_policy".into(), if self.capacity.fixed { "fixed" } else { "grow" }.into()),
            ("device".into(), self.device.name.as_str().into()),
            ("device_type".into(), self.device.kind.as_str().into()),
            ("reset".into(), "state built anew".into()),
            ("sleeping".into(), false.into()),
            ("threads_used".into(), 1.into()),
            ("worlds".into(), "batched".into()),
        ]);
        if !self.device.driver.is_empty() {
            map.insert("driver".into(), self.device.driver.as_str().into());
        }
        if let Some(files) = self.compiled {
            let files = SettingValue::Integer(files as i64);
            map.insert("kernels_compiled_in_setup".into(), files);
        }
        let int = |n: u32| SettingValue::Integer(n.into());
        let number = |x: f32| SettingValue::Number(x.into());
        if let Some(p) = self.state.rbd_sim_params(0) {
            map.extend([
                ("contact_damping_ratio".into(), number(p.contact_damping_ratio)),
                ("contact_natural_frequency".into(), number(p.contact_natural_frequency)),
                ("contact_recycle_distance".into(), number(p.normalized_contact_recycle_distance)),
                ("friction_in_bias_pass".into(), (p.friction_in_bias_pass != 0).into()),
                ("friction_model".into(), SettingValue::Text(format!("{:?}", p.friction_model))),
                ("timestep".into(), number(p.dt)),
                ("warmstart".into(), number(p.warmstart_coefficient)),
            ]);
        }
        if let Some(rbd) = &self.state.rbd {
            let broad = if rbd.uses_brute_force_broad_phase() { "brute force" } else { "LBVH" };
            map.extend([
                ("broad_phase".into(), broad.into()),
                ("capacity_colors".into(), int(rbd.max_colors())),
                ("capacity_contact_slots".into(), int(rbd.mb_contact_constraints_capacity())),
                ("capacity_pairs".into(), int(rbd.collision_pairs_capacity())),
                ("colliders".into(), int(rbd.num_colliders_per_batch())),
                ("deterministic".into(), rbd.deterministic().into()),
                ("internal_pgs_iterations".into(), int(rbd.num_internal_pgs_iterations())),
                ("substeps".into(), int(rbd.num_solver_iterations())),
            ]);
        }
        if self.robot.is_some() {
            let (refresh, light) = self.state.rbd_substep_refresh();
            let coriolis = if self.state.rbd_implicit_coriolis() { "implicit" } else { "explicit" };
            map.extend([
                ("coriolis".into(), coriolis.into()),
                ("joints".into(), "reduced coordinates".into()),
                ("robots".into(), "rapier3d-mjcf".into()),
                ("self_contacts".into(), false.into()),
                ("substep_refresh".into(), refresh.into()),
                ("substep_refresh_light".into(), light.into()),
            ]);
        }
        map
    }

    fn translation(&self) -> Translation {
        let approximate =
            |what: &str, how: &str| Approximation { what: what.into(), how: how.into() };
        let mut approximated = vec![
            approximate("all numbers", "rounded to single precision"),
            approximate("contact", "soft constraint at Nexus's default frequency and damping"),
        ];
        if self.robot.is_some() {
            approximated.extend([
                approximate("floor", "the scene's static box in place of the model's plane"),
                approximate(
                    "position servos",
                    "kp·(target − q) − kv·q̇ as a row of the solver, implicit in time; its impulse stays \
                     within the force range",
                ),
                approximate("joint friction", "a row of the solver with a bounded impulse"),
                approximate("friction of a pair", "the larger of the two coefficients"),
                approximate("integrator and friction cone", "Nexus's own instead of the model's"),
            ]);
            let exact = [
                "links, inertias, joints, limits, armature and damping, in reduced coordinates",
                "collision primitives",
                "gravity, start coordinates",
                "no contact of a robot with itself, no sleeping, no damping beside the model's",
            ];
            let exact = exact.map(String::from).to_vec();
            return Translation { exact, approximated, dropped: vec![] };
        }
        approximated.push(approximate("friction of a pair", "the mean of the two coefficients"));
        if !self.scene.hinges.is_empty() {
            approximated.push(approximate(
                "hinges",
                "impulse joints, to a static body where they hold to the world: anchors may drift a \
                 little, and contacts of the bodies they join are not left out",
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
