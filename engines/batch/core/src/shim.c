// MuJoCo's structures by the names of their fields. Their layout changes from version to version; this file is
// compiled against the headers of the very library it is linked with.
#define _POSIX_C_SOURCE 199309L
#include <string.h>
#include <time.h>
#include <mujoco/mjbatch.h>
#include <mujoco/mujoco.h>
#include <mujoco/mjxmacro.h>

enum { F64, F32, I32, U8, OTHER };
#define KIND(p) _Generic((p), double*: F64, float*: F32, int*: I32, default: sizeof(*(p)) == 1 ? U8 : OTHER)

static void no_warning(const char* text) { (void)text; }

const char* batch_mujoco_version(void) { return mj_versionString(); }

// Compiles a model from a file, or from text where `length` is not negative; NULL with a text in `error` where that fails.
mjModel* batch_compile(const char* source, int length, char* error, int size) {
  mju_user_warning = no_warning;
  if (length < 0) return mj_loadXML(source, NULL, error, size);
  mjVFS vfs;
  mj_defaultVFS(&vfs);
  mjModel* m = NULL;
  if (mj_addBufferVFS(&vfs, "model.xml", source, length) != 0) {
    strncpy(error, "the model cannot be given to MuJoCo", size - 1);
  } else {
    m = mj_loadXML("model.xml", &vfs, error, size);
  }
  mj_deleteVFS(&vfs);
  return m;
}
// A model in MuJoCo's binary format.
mjModel* batch_load_binary(const void* buffer, int size) {
  mju_user_warning = no_warning;
  return mj_loadModelBuffer(buffer, size);
}
void batch_delete_model(mjModel* m) { mj_deleteModel(m); }

#undef MJ_M
#define MJ_M(n) m->n
#undef MJ_D
#define MJ_D(n) d->n

// An array of the model; NULL where it has none of that name.
const void* batch_model_array(const mjModel* m, const char* name, long* count, int* kind) {
#define X(type, field, nr, nc)                    \
  if (strcmp(name, #field) == 0) {                \
    *count = (long)m->nr * (long)(nc);            \
    *kind = KIND(m->field);                       \
    return m->field;                              \
  }
#define XNV X
  MJMODEL_POINTERS
#undef X
#undef XNV
  return NULL;
}

// A size of the model, or a negative number.
long batch_model_size(const mjModel* m, const char* name) {
#define X(field) \
  if (strcmp(name, #field) == 0) return (long)m->field;
  MJMODEL_SIZES
#undef X
  return -1;
}

// A number of the options or the statistics; copies of vectors go to `out`, at most 6. Returns how many.
int batch_option(const mjModel* m, const char* name, double* out) {
#define X(type, field, n)                          \
  if (strcmp(name, #field) == 0) {                 \
    *out = (double)m->opt.field;                   \
    return 1;                                      \
  }
#define XVEC(type, field, n)                                     \
  if (strcmp(name, #field) == 0) {                               \
    for (int i = 0; i < n; i++) out[i] = (double)m->opt.field[i]; \
    return n;                                                    \
  }
  MJOPTION_FIELDS
#undef X
#undef XVEC
  if (strcmp(name, "meaninertia") == 0) {
    *out = m->stat.meaninertia;
    return 1;
  }
  return 0;
}

void batch_set_option(mjModel* m, const char* name, double value) {
#define X(type, field, n) \
  if (strcmp(name, #field) == 0) m->opt.field = (type)value;
#define XVEC(type, field, n)
  MJOPTION_FIELDS
#undef X
#undef XVEC
}

// Kinds: 0 body, 1 joint, 2 geom, 3 actuator, 4 tendon, 5 equality, 6 key, 7 site.
static const int types[] = {mjOBJ_BODY, mjOBJ_JOINT, mjOBJ_GEOM, mjOBJ_ACTUATOR, mjOBJ_TENDON, mjOBJ_EQUALITY, mjOBJ_KEY, mjOBJ_SITE};
const char* batch_name(const mjModel* m, int kind, int id) { return mj_id2name(m, types[kind], id); }
int batch_id(const mjModel* m, int kind, const char* name) { return mj_name2id(m, types[kind], name); }

mjData* batch_data(const mjModel* m) { return mj_makeData(m); }
void batch_delete_data(mjData* d) { mj_deleteData(d); }
void batch_reset(const mjModel* m, mjData* d) { mj_resetData(m, d); }
void batch_forward(const mjModel* m, mjData* d) { mj_forward(m, d); }
void batch_mj_step(const mjModel* m, mjData* d) { mj_step(m, d); }
// Poses and velocities of bodies that follow from positions and velocities.
void batch_motion(const mjModel* m, mjData* d) {
  mj_kinematics(m, d);
  mj_comPos(m, d);
  mj_comVel(m, d);
}
void batch_body_velocity(const mjModel* m, const mjData* d, int body, double* out) {
  mj_objectVelocity(m, d, mjOBJ_BODY, body, out, 0);
}
int batch_rows(const mjData* d) { return d->nefc; }
double batch_energy(const mjModel* m, mjData* d) {
  mj_energyPos(m, d);
  mj_energyVel(m, d);
  return d->energy[0] + d->energy[1];
}

// An array of the state.
void* batch_data_array(const mjModel* m, mjData* d, const char* name, long* count, int* kind) {
#define X(type, field, nr, nc)                    \
  if (strcmp(name, #field) == 0) {                \
    *count = (long)m->nr * (long)(nc);            \
    *kind = KIND(d->field);                       \
    return d->field;                              \
  }
#define XNV X
  MJDATA_POINTERS
#undef X
#define X(type, field, nr, nc)                    \
  if (strcmp(name, #field) == 0) {                \
    *count = (long)(nr) * (long)(nc);             \
    *kind = KIND(d->field);                       \
    return d->field;                              \
  }
  MJDATA_ARENA_POINTERS_SOLVER
  if (strcmp(name, "efc_aref") == 0) {
    *count = d->nefc;
    *kind = F64;
    return d->efc_aref;
  }
#undef X
#undef XNV
  return NULL;
}

int batch_contacts(const mjData* d) { return d->ncon; }
// A contact: geoms, dimension, row address, exclusion; distance, position, frame.
void batch_contact(const mjData* d, int i, int* of, double* at) {
  const mjContact* c = d->contact + i;
  of[0] = c->geom[0];
  of[1] = c->geom[1];
  of[2] = c->dim;
  of[3] = c->efc_address;
  of[4] = c->exclude;
  at[0] = c->dist;
  memcpy(at + 1, c->pos, 3 * sizeof(double));
  memcpy(at + 4, c->frame, 9 * sizeof(double));
}

void batch_full_mass(const mjModel* m, const mjData* d, double* out) { mj_fullM(m, d, out); }
// The constraint Jacobian, dense.
void batch_dense_jacobian(const mjModel* m, const mjData* d, double* out) {
  if (mj_isSparse(m)) {
    memset(out, 0, sizeof(double) * (size_t)d->nefc * (size_t)m->nv);
    for (int r = 0; r < d->nefc; r++)
      for (int k = 0; k < d->efc_J_rownnz[r]; k++) out[(long)r * m->nv + d->efc_J_colind[d->efc_J_rowadr[r] + k]] = d->efc_J[d->efc_J_rowadr[r] + k];
  } else {
    memcpy(out, d->efc_J, sizeof(double) * (size_t)d->nefc * (size_t)m->nv);
  }
}

// Seconds that all threads of this process have computed.
double batch_cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// MuJoCo's own batches, to be compared with.
mjBatch* batch_mjb(const mjModel* m, int worlds, int threads, char* error, int size) {
  mjBatchConfig c;
  mjb_defaultConfig(&c);
  c.nthread = threads;
  return mjb_makeBatch(m, worlds, &c, error, size);
}
void batch_mjb_delete(mjBatch* b) { mjb_deleteBatch(b); }
int batch_mjb_step(mjBatch* b, int worlds, int steps) { return mjb_step(b, NULL, worlds, steps, 0); }
int batch_mjb_reset(mjBatch* b, int worlds) { return mjb_reset(b, NULL, worlds, NULL, 0); }
// A component of the states (0 positions, 1 velocities, 2 controls), and how far apart the worlds' are.
double* batch_mjb_component(mjBatch* b, int which, int* size, int* stride) {
  static const int bits[] = {mjSTATE_QPOS, mjSTATE_QVEL, mjSTATE_CTRL};
  *stride = mjb_nstate(b);
  return mjb_stateComponent(b, bits[which], size);
}
