export { parseKubeconfig } from './parse-kubeconfig.js';
