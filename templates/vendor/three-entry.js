// The parts of three.js that templates/replay.js uses, as one classic script with one global.
export {
  AmbientLight, BoxGeometry, Color, CylinderGeometry, DataTexture, DirectionalLight, DynamicDrawUsage,
  InstancedMesh, LinearFilter, LinearMipmapLinearFilter, Matrix4, Mesh, MeshLambertMaterial, PCFShadowMap,
  PerspectiveCamera, Quaternion, RepeatWrapping, SRGBColorSpace, Scene, SphereGeometry, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
