"""The Python package against MuJoCo's own Python package."""

import mujoco
import numpy as np
import pytest

from sim_pipe_batch import BatchedEngine

XML = """
<mujoco><option timestep="0.004"/><worldbody><geom type="plane" size="0 0 1"/>
<body pos="0 0 .3"><freejoint/><geom type="box" size=".1 .08 .06" mass="1"/>
<body pos="0 0 .1"><joint name="j" axis="0 1 0" damping=".1" range="-60 60"/>
<geom type="capsule" fromto="0 0 0 0 0 .2" size=".03" mass=".3"/></body></body></worldbody>
<actuator><motor joint="j" gear="2"/></actuator></mujoco>
"""


@pytest.fixture
def model():
    return mujoco.MjModel.from_xml_string(XML)


def test_step_np_is_mj_step(model):
    n = 20
    rng = np.random.default_rng(0)
    qpos = np.tile(model.qpos0, (n, 1)) + 0.02 * rng.standard_normal((n, model.nq))
    qvel = 0.1 * rng.standard_normal((n, model.nv))
    engine = BatchedEngine(model, n, threads=2)
    engine.set_state(qpos, qvel)
    data = [mujoco.MjData(model) for _ in range(n)]
    for d, q, v in zip(data, qpos.astype(np.float32), qvel.astype(np.float32)):
        d.qpos, d.qvel = q, v
    for _ in range(60):
        ctrl = rng.uniform(-1, 1, (n, model.nu)).astype(np.float32)
        q, v = engine.step_np(ctrl)
        for d, u in zip(data, ctrl):
            d.ctrl = u
            mujoco.mj_step(model, d)
    assert q.shape == (n, model.nq) and v.shape == (n, model.nv)
    assert np.abs(q - np.array([d.qpos for d in data])).max() < 2e-4
    assert np.mean(engine.nefc == [d.nefc for d in data]) > 0.9
    assert not engine.overflow.any() and not engine.not_finite.any()


def test_worlds_have_their_own_gravity(model):
    engine = BatchedEngine(model, 3, threads=1)
    engine.set_world_tables(gravity=np.array([[0, 0, -9.81], [0, 0, 0], [0, 0, 3]]))
    engine.step_n(10)
    z = engine.qpos[:, 2]
    assert z[0] < z[1] == np.float32(0.3) < z[2]


def test_what_is_refused_says_why(model):
    with pytest.raises(ValueError, match="integrator RK4"):
        BatchedEngine(mujoco.MjModel.from_xml_string(XML.replace('timestep="0.004"', 'integrator="RK4"')), 1)
    engine = BatchedEngine(model, 2)
    with pytest.raises(ValueError, match=r"qpos has shape \(1, 8\); it needs \(2, 8\)"):
        engine.set_state(np.zeros((1, 8)), np.zeros((2, 7)))
    with pytest.raises(ValueError, match="no world table"):
        engine.set_world_tables(mass=np.ones(2))
