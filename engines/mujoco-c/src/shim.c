// MuJoCo's structures as plain functions. Their layout changes from version to version; this file is
// compiled against the headers of the very library it is linked with.

#include <stddef.h>
#include <string.h>
#include <mujoco/mujoco.h>

static void no_warning(const char* text) { (void)text; }

const char* plant_version(void) { return mj_versionString(); }

// Compiles a model; NULL with a text in `error` where that fails.
mjModel* plant_compile(const char* xml, int length, char* error, int size) {
  // Warnings are counted in mjData; the default also writes a file.
  mju_user_warning = no_warning;
  mjVFS vfs;
  mj_defaultVFS(&vfs);
  mjModel* m = NULL;
  if (mj_addBufferVFS(&vfs, "model.xml", xml, length) != 0) {
    strncpy(error, "the model cannot be given to MuJoCo", size - 1);
  } else {
    m = mj_loadXML("model.xml", &vfs, error, size);
  }
  mj_deleteVFS(&vfs);
  return m;
}

void plant_delete_model(mjModel* m) { mj_deleteModel(m); }
mjData* plant_data(const mjModel* m) { return mj_makeData(m); }
void plant_delete_data(mjData* d) { mj_deleteData(d); }
void plant_reset(const mjModel* m, mjData* d) { mj_resetData(m, d); }
void plant_forward(const mjModel* m, mjData* d) { mj_forward(m, d); }
void plant_step(const mjModel* m, mjData* d) { mj_step(m, d); }

int plant_nq(const mjModel* m) { return m->nq; }
int plant_nv(const mjModel* m) { return m->nv; }
int plant_nu(const mjModel* m) { return m->nu; }
int plant_njnt(const mjModel* m) { return m->njnt; }
double plant_timestep(const mjModel* m) { return m->opt.timestep; }
void plant_set_timestep(mjModel* m, double dt) { m->opt.timestep = dt; }

double plant_time(const mjData* d) { return d->time; }
double* plant_qpos(mjData* d) { return d->qpos; }
double* plant_qvel(mjData* d) { return d->qvel; }
const double* plant_qacc(const mjData* d) { return d->qacc; }
double* plant_ctrl(mjData* d) { return d->ctrl; }
const double* plant_xpos(const mjData* d) { return d->xpos; }
const double* plant_xquat(const mjData* d) { return d->xquat; }
double* plant_xfrc(mjData* d) { return d->xfrc_applied; }
const double* plant_actuator_force(const mjData* d) { return d->actuator_force; }

// Warnings of all kinds since the last reset.
int plant_warnings(const mjData* d) {
  int sum = 0;
  for (int i = 0; i < mjNWARNING; i++) sum += d->warning[i].number;
  return sum;
}

int plant_contacts(const mjData* d) { return d->ncon; }

// The geoms of a contact, its distance and its normal force.
void plant_contact(const mjModel* m, const mjData* d, int i, int* geoms, double* distance, double* normal) {
  mjtNum force[6];
  geoms[0] = d->contact[i].geom[0];
  geoms[1] = d->contact[i].geom[1];
  *distance = d->contact[i].dist;
  mj_contactForce(m, d, i, force);
  *normal = force[0];
}

// Number of a named thing, or -1. Kinds: 0 body, 1 joint, 2 geom, 3 site, 4 actuator, 5 sensor.
int plant_id(const mjModel* m, int kind, const char* name) {
  static const int types[] = {mjOBJ_BODY, mjOBJ_JOINT, mjOBJ_GEOM, mjOBJ_SITE, mjOBJ_ACTUATOR, mjOBJ_SENSOR};
  return mj_name2id(m, types[kind], name);
}

// Body: its parent; mass, principal moments of inertia and centre of mass; its frame in its parent.
void plant_body(const mjModel* m, int i, int* parent, double* mass, double* inertia, double* centre, double* at) {
  *parent = m->body_parentid[i];
  *mass = m->body_mass[i];
  memcpy(inertia, m->body_inertia + 3 * i, 3 * sizeof(double));
  memcpy(centre, m->body_ipos + 3 * i, 3 * sizeof(double));
  memcpy(at, m->body_pos + 3 * i, 3 * sizeof(double));
}

// Actuator: its joint, or -1; ranges of control and force.
void plant_actuator(const mjModel* m, int i, int* joint, double* control, double* force) {
  *joint = m->actuator_trntype[i] == mjTRN_JOINT ? m->actuator_trnid[2 * i] : -1;
  memcpy(control, m->actuator_ctrlrange + 2 * i, 2 * sizeof(double));
  memcpy(force, m->actuator_forcerange + 2 * i, 2 * sizeof(double));
}

// Sensor: whether it is a rangefinder, its site or another object, where its data begins; its cutoff.
void plant_sensor(const mjModel* m, int i, int* of, double* cutoff) {
  of[0] = m->sensor_type[i] == mjSENS_RANGEFINDER;
  of[1] = m->sensor_objid[i];
  of[2] = m->sensor_adr[i];
  *cutoff = m->sensor_cutoff[i];
}

double plant_sensor_value(const mjData* d, int address) { return d->sensordata[address]; }

// Joint: is it free (0), a hinge (3) or another; its body, position and velocity addresses.
void plant_joint(const mjModel* m, int i, int* of, double* axis, double* range) {
  of[0] = m->jnt_type[i];
  of[1] = m->jnt_bodyid[i];
  of[2] = m->jnt_qposadr[i];
  of[3] = m->jnt_dofadr[i];
  of[4] = m->jnt_limited[i];
  memcpy(axis, m->jnt_axis + 3 * i, 3 * sizeof(double));
  memcpy(range, m->jnt_range + 2 * i, 2 * sizeof(double));
}

// Geom: whether it is a cylinder, its body and its size.
void plant_geom(const mjModel* m, int i, int* of, double* size) {
  of[0] = m->geom_type[i] == mjGEOM_CYLINDER;
  of[1] = m->geom_bodyid[i];
  memcpy(size, m->geom_size + 3 * i, 3 * sizeof(double));
}

// Site: its body, where it is and how it is turned in that body's frame.
void plant_site(const mjModel* m, int i, int* body, double* at, double* turned) {
  *body = m->site_bodyid[i];
  memcpy(at, m->site_pos + 3 * i, 3 * sizeof(double));
  memcpy(turned, m->site_quat + 4 * i, 4 * sizeof(double));
}

void plant_control_range(const mjModel* m, int i, double* range) {
  memcpy(range, m->actuator_ctrlrange + 2 * i, 2 * sizeof(double));
}

double plant_subtree_mass(const mjModel* m, int body) { return m->body_subtreemass[body]; }

// Integrator, solver, cone, most iterations, whether it resets itself.
void plant_options(const mjModel* m, int* out) {
  out[0] = m->opt.integrator;
  out[1] = m->opt.solver;
  out[2] = m->opt.cone;
  out[3] = m->opt.iterations;
  out[4] = (m->opt.disableflags & mjDSBL_AUTORESET) == 0;
}
