//! Looks at what the last run used ahead of the run that will ask for it, on threads of its own, while
//! that one still plans. Most of it is what the next run uses, too, and looking at ten thousand records
//! and outputs takes longer than anything else that run does.

use crate::settled::Memory;
use sim_model::Digest;
use sim_store::{Brief, Store, StoreLease};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Fewer are looked at sooner than a thread is started.
const WORTH_A_THREAD: usize = 200;
/// More threads than this wait for the file system, not for the processor.
const MOST_THREADS: usize = 8;

/// Records whose outputs are intact, by key, as they were seen after the run began.
#[derive(Clone, Debug)]
pub struct Ahead(Arc<Seen>);

struct Seen {
    store: Store,
    /// Known once the last run's root is read.
    keys: OnceLock<Keys>,
    next: AtomicUsize,
}

struct Keys {
    index: HashMap<Digest, u32>,
    list: Vec<Digest>,
    /// In the order of the list; empty for what the run must look at itself.
    seen: Vec<OnceLock<Option<Brief>>>,
    /// Nothing is collected meanwhile.
    _lease: StoreLease,
}

impl Keys {
    fn new(list: Vec<Digest>, seen: Vec<OnceLock<Option<Brief>>>, lease: StoreLease) -> Self {
        let index = list.iter().enumerate().map(|(i, key)| (*key, i as u32)).collect();
        Self { index, list, seen, _lease: lease }
    }
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keys = self.keys.get().map_or(0, |k| k.list.len());
        f.debug_struct("Seen").field("keys", &keys).finish_non_exhaustive()
    }
}

impl Ahead {
    /// Begins to look at what the last run of a pipeline of the project at `root` used, or takes it from
    /// what is remembered of that. `processors` are those of the machine; one is left to the run.
    pub fn start(
        store: &Store,
        pipeline: String,
        root: PathBuf,
        processors: usize,
        memory: Option<Memory>,
    ) -> Self {
        let seen = Seen { store: store.clone(), keys: OnceLock::new(), next: AtomicUsize::new(0) };
        let ahead = Self(Arc::new(seen));
        let threads = processors.saturating_sub(1).clamp(1, MOST_THREADS);
        let first = ahead.0.clone();
        // Nobody waits for these threads: whatever they cannot do, the run does.
        std::thread::spawn(move || {
            let remembered = memory.is_some_and(|memory| first.remember(memory));
            if remembered || first.read_root(&pipeline, &root).is_none() {
                return;
            }
            for _ in 1..threads {
                let more = first.clone();
                std::thread::spawn(move || more.look());
            }
            first.look();
        });
        ahead
    }

    /// The newest record of a key, where it was among the last run's and its output is intact. Whoever
    /// is told nothing must look.
    pub(crate) fn brief(&self, key: &Digest) -> Option<Brief> {
        let keys = self.0.keys.get()?;
        let at = *keys.index.get(key)?;
        keys.seen[at as usize].get_or_init(|| look(&self.0.store, key)).clone()
    }
}

impl Seen {
    /// Whether most of it is remembered; with little of it, it is quicker to look at all.
    fn remember(&self, memory: Memory) -> bool {
        let Some((briefs, lease)) = memory.most(&self.store) else { return false };
        let list: Vec<Digest> = briefs.iter().map(|b| b.key).collect();
        let briefs = briefs.into_iter().map(|b| OnceLock::from(Some(b))).collect();
        self.keys.set(Keys::new(list, briefs, lease)).is_ok()
    }

    fn read_root(&self, pipeline: &str, root: &std::path::Path) -> Option<()> {
        // After a power failure nothing is as it seems.
        if self.store.must_recover().ok()? {
            return None;
        }
        let lease = self.store.lease().ok()?;
        let list = self.store.last_keys(pipeline, root).ok()?;
        if list.len() < WORTH_A_THREAD {
            return None;
        }
        let seen = list.iter().map(|_| OnceLock::new()).collect();
        self.keys.set(Keys::new(list, seen, lease)).ok()
    }

    fn look(&self) {
        let Some(keys) = self.keys.get() else { return };
        // By parts: neighbours in the plan are in no order on the disk, and a counter is shared.
        const PART: usize = 16;
        loop {
            let from = self.next.fetch_add(PART, Ordering::Relaxed);
            if from >= keys.list.len() {
                return;
            }
            for i in from..(from + PART).min(keys.list.len()) {
                keys.seen[i].get_or_init(|| look(&self.store, &keys.list[i]));
            }
        }
    }
}

fn look(store: &Store, key: &Digest) -> Option<Brief> {
    let brief = store.brief(key).ok()??;
    let intact = match &brief.output {
        None => true,
        Some(tree) => store.intact(&tree.digest).ok()?,
    };
    intact.then_some(brief)
}
