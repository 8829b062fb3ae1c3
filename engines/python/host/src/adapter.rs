//! The adapter behind one function.

use crate::reply;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sim_engine_harness::{Engine, EngineError, Simulation};
use sim_engine_protocol::{
    Counters, Description, Job, Pose, Scene, SettingValue, Status, Translation, Velocity,
};
use std::collections::BTreeMap;
use std::ffi::c_int;

/// What the adapter is asked through: what is asked ([`Ask`]), a number, a JSON text of `length`
/// bytes, and room for `count` numbers. It gives 0, or a [`failure`]; a document or a reason goes
/// through `sim_host_reply` before it returns.
pub type Call = extern "C" fn(
    ask: c_int,
    number: u64,
    text: *const u8,
    length: usize,
    out: *mut f64,
    count: usize,
) -> c_int;

/// What is asked. The numbers are those of `sim_engine/host.py`.
#[derive(Clone, Copy)]
enum Ask {
    /// Reply: a description.
    Describe = 0,
    /// Text: `{"scene", "job"}`. Reply: `{"settings", "translation"}`.
    Build = 1,
    Reset = 2,
    /// Number: steps.
    Step = 3,
    Sync = 4,
    /// Number: world. Out: position x, y, z and orientation w, x, y, z of each mover.
    Poses = 5,
    /// Number: world. Out: linear x, y, z and angular x, y, z of each mover.
    Velocities = 6,
    /// Reply: counters.
    Counters = 7,
}

/// What a call that failed leads to.
fn failure(code: c_int) -> Status {
    match code {
        1 => Status::Unsupported,
        2 => Status::Refused,
        3 => Status::OutOfMemory,
        _ => Status::Error,
    }
}

#[derive(Clone, Copy)]
struct Caller(Call);

impl Caller {
    fn ask(
        self,
        ask: Ask,
        number: u64,
        text: &str,
        out: &mut [f64],
    ) -> Result<Vec<u8>, EngineError> {
        reply::put(&[]);
        let (bytes, length) = (text.as_ptr(), text.len());
        let code = (self.0)(ask as c_int, number, bytes, length, out.as_mut_ptr(), out.len());
        let reply = reply::take();
        if code == 0 {
            return Ok(reply);
        }
        let reason = String::from_utf8_lossy(&reply).into_owned();
        let reason = if reason.is_empty() { "the adapter gave no reason".into() } else { reason };
        Err(EngineError { status: failure(code), reason })
    }

    fn document<T: DeserializeOwned>(
        self,
        ask: Ask,
        what: &str,
        text: &str,
    ) -> Result<T, EngineError> {
        let reply = self.ask(ask, 0, text, &mut [])?;
        serde_json::from_slice(&reply)
            .map_err(|e| EngineError::failed(format!("the adapter's {what}: {e}")))
    }
}

/// An adapter that has described itself.
pub(crate) struct Adapter {
    caller: Caller,
    description: Description,
}

impl Adapter {
    pub(crate) fn new(call: Call) -> Result<Self, String> {
        let caller = Caller(call);
        let description = caller.document(Ask::Describe, "description", "");
        Ok(Self { caller, description: description.map_err(|e| e.reason)? })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Built {
    settings: BTreeMap<String, SettingValue>,
    translation: Translation,
}

impl Engine for Adapter {
    fn describe(&self) -> Description {
        self.description.clone()
    }

    fn build(&self, scene: &Scene, job: &Job) -> Result<Box<dyn Simulation>, EngineError> {
        let text = serde_json::json!({ "scene": scene, "job": job }).to_string();
        let built = self.caller.document(Ask::Build, "account of its build", &text)?;
        let (caller, movers) = (self.caller, scene.dynamic_count());
        Ok(Box::new(Worlds { caller, movers, built, counters: Counters::default() }))
    }
}

/// All worlds of a job.
struct Worlds {
    caller: Caller,
    movers: usize,
    built: Built,
    /// As of the last poses that were read.
    counters: Counters,
}

impl Worlds {
    fn numbers<const N: usize>(&self, ask: Ask, world: u32) -> Result<Vec<[f64; N]>, EngineError> {
        // What the adapter leaves out stays NaN, which fails its gate.
        let mut out = vec![f64::NAN; N * self.movers];
        self.caller.ask(ask, world.into(), "", &mut out)?;
        Ok(out.as_chunks().0.to_vec())
    }
}

impl Simulation for Worlds {
    fn reset(&mut self) -> Result<(), EngineError> {
        self.caller.ask(Ask::Reset, 0, "", &mut []).map(drop)
    }

    fn step(&mut self, steps: u64) -> Result<(), EngineError> {
        self.caller.ask(Ask::Step, steps, "", &mut []).map(drop)
    }

    fn sync(&mut self) -> Result<(), EngineError> {
        self.caller.ask(Ask::Sync, 0, "", &mut []).map(drop)
    }

    /// Counters are read here, too: this call can say that they could not be.
    fn poses(&mut self, world: u32, out: &mut Vec<Pose>) -> Result<(), EngineError> {
        if world == 0 {
            self.counters = self.caller.document(Ask::Counters, "counters", "")?;
        }
        out.extend(self.numbers(Ask::Poses, world)?.into_iter().map(
            |[x, y, z, w, i, j, k]: [f64; 7]| Pose {
                position: [x, y, z],
                orientation: [w, i, j, k],
            },
        ));
        Ok(())
    }

    fn velocities(&mut self, world: u32, out: &mut Vec<Velocity>) -> Result<(), EngineError> {
        out.extend(self.numbers(Ask::Velocities, world)?.into_iter().map(
            |[x, y, z, i, j, k]: [f64; 6]| Velocity { linear: [x, y, z], angular: [i, j, k] },
        ));
        Ok(())
    }

    fn counters(&self) -> Counters {
        self.counters.clone()
    }

    fn settings(&self) -> BTreeMap<String, SettingValue> {
        self.built.settings.clone()
    }

    fn translation(&self) -> Translation {
        self.built.translation.clone()
    }
}
