// The same step on CUDA: one thread a world.
#include "step.h"

// Whole-number scratch memory of a world, in the order of carving.
static __device__ __forceinline__ void carve_plain_all(const Model& m, Work<f32>& w, i32* p) {
    w.lim_mask = (bool*)p;
    p += m.nlimit;
    w.pt_mask = (bool*)p;
    p += m.most_points;
    w.lim = p;
    p += m.nlimit;
    w.pt_pair = p;
    p += m.most_points;
    w.pt_jac = p;
    p += m.most_points + 1;
    w.row_adr = p;
    p += m.nv + 1;
    w.row_cols = p;
    p += tri(m.nv);
    w.fill = p;
    p += tri(m.nv);
    w.stiff = p;
    p += m.nbody;
    w.bits = p;
}

static __device__ __forceinline__ Arr<f32> lane(f32* p, int world, int worlds) { return {p + world, worlds}; }

extern "C" {

// Floats and whole numbers of scratch memory that a world needs, for the host to ask.
__global__ void batch_scratch(const i32* fields, const i32* ints, const f32* floats, long long* out) {
    Model m;
    for (int k = 0; k < (int)((sizeof(Model) - 2 * sizeof(void*)) / sizeof(i32)); k++) ((i32*)&m)[k] = fields[k];
    m.I = ints;
    m.S = floats;
    Work<f32> w;
    Carver c = {0, 0, 1};
    carve_lanes(m, w, c);
    out[0] = c.used;
    out[1] = 2LL * m.nlimit + 3LL * m.most_points + 1 + m.nv + 1 + 2LL * tri(m.nv) + m.nbody + (long long)m.nv * ((m.nv + 31) / 32);
}

// `steps` steps of every world. Arrays hold a value of all worlds side by side; `table` is one world's, shared, where
// `own` is zero.
__global__ void batch_step(const i32* fields, const i32* ints, const f32* floats, f32* qpos, f32* qvel, f32* ctrl, f32* warm,
                           f32* qacc, f32* info, f32* table, int own, f32* scratch, i32* plain, long long plain_per, int worlds, int steps) {
    int world = blockIdx.x * blockDim.x + threadIdx.x;
    if (world >= worlds) return;
    Model m;
    for (int k = 0; k < (int)((sizeof(Model) - 2 * sizeof(void*)) / sizeof(i32)); k++) ((i32*)&m)[k] = fields[k];
    m.I = ints;
    m.S = floats;
    Work<f32> w;
    Carver c = {(char*)(scratch + world), 0, worlds};
    carve_lanes(m, w, c);
    carve_plain_all(m, w, plain + plain_per * world);
    State<f32> s;
    s.qpos = lane(qpos, world, worlds);
    s.qvel = lane(qvel, world, worlds);
    s.ctrl = lane(ctrl, world, worlds);
    s.warm = lane(warm, world, worlds);
    s.qacc = lane(qacc, world, worlds);
    s.info = lane(info, world, worlds);
    s.touch = Arr<f32>{0, 0};  // the host asks for none
    s.tab = own ? lane(table, world, worlds) : Arr<f32>{table, 1};
    for (int k = 0; k < steps; k++) step_block(m, s, w, true, true);
}
}
