export { chosenKubeconfig, KUBECONFIG_LENGTH_MAX, kubeconfigProblems, type KubeconfigOptions } from './kubeconfig.js';
export { memberConnection, type MemberConnection } from './kubeconfig-connection.js';
export { isLocalAddress } from './local-address.js';
export { memberNameProblems } from './member-name.js';
