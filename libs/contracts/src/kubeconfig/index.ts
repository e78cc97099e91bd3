export { parseKubeconfig, type ParsedKubeconfig } from './parse-kubeconfig.js';
