// The kernels for one lane type, as C functions: compiled once for each width with TAG and LANES.
#include "lane.h"
#if defined(ROOFLINE)
#include "roofline.h"
#endif
#include "step.h"

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define NAMED(f) JOIN(f, TAG)

#if LANES == 1
typedef f32 Plain;
#else
typedef Vec<LANES> Plain;
#endif
#if defined(ROOFLINE) && ROOFLINE == 1
typedef Counted<Plain> F;
#else
typedef Plain F;
#endif

struct Header {
    const i32* fields;
    const i32* ints;
    const f32* floats;
};

struct Block {
    f32 *qpos, *qvel, *ctrl, *warm, *qacc, *info, *tab, *touch;
    i32 valid, steps;
};

// What forward() left in the scratch memory, for tests and diagnostics; one float a lane each.
struct Found {
    f32 *xpos, *xmat, *gpos, *bias, *passive, *actuator, *smooth, *qacc_smooth, *M, *dist, *pos, *axes, *D, *mu, *aref, *J, *lD, *lc;
    i32 *pt_pair, *pt_jac, *pt_mask, *lim, *lim_mask;
    i32 npoint, nlim;
};

static inline Model model_of(const Header* h) {
    Model m;
    __builtin_memcpy(&m, h->fields, sizeof(i32) * __builtin_offsetof(Model, I) / sizeof(i32));
    m.I = h->ints;
    m.S = h->floats;
    return m;
}
static inline State<F> state_of(const Block* b) {
    State<F> s;
    s.qpos.p = (F*)b->qpos;
    s.qvel.p = (F*)b->qvel;
    s.ctrl.p = (F*)b->ctrl;
    s.warm.p = (F*)b->warm;
    s.qacc.p = (F*)b->qacc;
    s.info.p = (F*)b->info;
    s.tab.p = (F*)b->tab;
    s.touch.p = (F*)b->touch;
    return s;
}

extern "C" {

// Bytes of scratch memory that a thread needs.
long NAMED(batch_scratch)(const Header* h) {
    Model m = model_of(h);
    Work<F> w;
    Carver c = {nullptr, 0, 1};
    carve_work(m, w, c);
    return c.used;
}

// No steps at all: what follows from the state, without a change of it.
void NAMED(batch_step)(const Header* h, const Block* b, char* scratch) {
    Model m = model_of(h);
    Work<F> w;
    Carver c = {scratch, 0, 1};
    carve_work(m, w, c);
    State<F> s = state_of(b);
    for (int k = 0; k == 0 || k < b->steps; k++) step_block(m, s, w, Lane<F>::first(b->valid), b->steps > 0);
}

// Everything up to the accelerations; the state's positions and velocities stay as they are.
void NAMED(batch_forward)(const Header* h, const Block* b, char* scratch, Found* f) {
    Model m = model_of(h);
    Work<F> w;
    Carver c = {scratch, 0, 1};
    carve_work(m, w, c);
    State<F> s = state_of(b);
    Tally<F> t;
    forward(m, s, w, Lane<F>::first(b->valid), t);
    f->xpos = (f32*)w.xpos.p;
    f->xmat = (f32*)w.xmat.p;
    f->gpos = (f32*)w.gpos.p;
    f->bias = (f32*)w.bias.p;
    f->passive = (f32*)w.passive.p;
    f->actuator = (f32*)w.actuator.p;
    f->smooth = (f32*)w.smooth.p;
    f->qacc_smooth = (f32*)w.qacc_smooth.p;
    f->M = (f32*)w.M.p;
    f->dist = (f32*)w.dist.p;
    f->pos = (f32*)w.pos.p;
    f->axes = (f32*)w.axes.p;
    f->D = (f32*)w.D.p;
    f->mu = (f32*)w.mu.p;
    f->aref = (f32*)w.aref.p;
    f->J = (f32*)w.J.p;
    f->lD = (f32*)w.lD.p;
    f->lc = (f32*)w.lc.p;
    f->pt_pair = w.pt_pair;
    f->pt_jac = w.pt_jac;
    f->lim = w.lim;
    f->npoint = w.npoint;
    f->nlim = w.nlim;
    for (int p = 0; p < w.npoint; p++) {
        f->pt_mask[p] = 0;
        for (int l = 0; l < LANES; l++) f->pt_mask[p] |= (i32)bit_(w.pt_mask[p], l) << l;
    }
    for (int k = 0; k < w.nlim; k++) {
        f->lim_mask[k] = 0;
        for (int l = 0; l < LANES; l++) f->lim_mask[k] |= (i32)bit_(w.lim_mask[k], l) << l;
    }
}

#if defined(ROOFLINE)
// What was counted since the last call: operations by phase and kind, or ticks of the clock by phase.
void NAMED(batch_roofline)(double* out) {
#if ROOFLINE == 1
    for (int p = 0; p < PHASE_COUNT; p++)
        for (int k = 0; k < OP_COUNT; k++) {
            out[OP_COUNT * p + k] = (double)roofline_ops[p][k];
            roofline_ops[p][k] = 0;
        }
#else
    PHASE(PHASE_REST);
    for (int p = 0; p < PHASE_COUNT; p++) {
        out[p] = (double)roofline_ticks[p];
        roofline_ticks[p] = 0;
    }
    roofline_last = __rdtsc();
#endif
}

// Fused multiply-adds in registers: twelve chains side by side, `turns` of each. Returns something that depends on all.
float NAMED(batch_peak)(long turns) {
    Plain sum[12], a = Plain(0.999999f), b = Plain(1e-6f);
    for (int k = 0; k < 12; k++) sum[k] = Plain(1.0f + 0.01f * (float)k);
    for (long i = 0; i < turns; i++)
        for (int k = 0; k < 12; k++) sum[k] = fma_(sum[k], a, b);
    Plain all = sum[0];
    for (int k = 1; k < 12; k++) all = all + sum[k];
    return get_(all, 0);
}
#endif
}
