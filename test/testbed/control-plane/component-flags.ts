import { join } from 'node:path';

/** Where one control plane's files are and which addresses it has. */
export interface ControlPlaneLayout {
  readonly address: string;
  readonly directory: string;
  readonly serviceCidr: string;
}

/** The API server's port in every cluster. */
export const API_SERVER_PORT = 6443;

// What workloads need to run; no node lifecycle, no cloud, no volumes.
const CONTROLLERS = [
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'namespace-controller',
  'garbage-collector-controller',
  'serviceaccount-controller',
  'service-cidr-controller',
  'root-ca-certificate-publisher-controller',
  'deployment-controller',
  'replicaset-controller',
  'daemonset-controller',
  'statefulset-controller',
  'job-controller',
];

/** Flags of etcd: on the namespace's own loopback, and without waiting for the disk. */
export function etcdFlags(layout: ControlPlaneLayout): string[] {
  return [
    `--data-dir=${join(layout.directory, 'etcd')}`,
    '--unsafe-no-fsync',
    '--listen-client-urls=http://127.0.0.1:2379',
    '--advertise-client-urls=http://127.0.0.1:2379',
    '--listen-peer-urls=http://127.0.0.1:2380',
    '--initial-advertise-peer-urls=http://127.0.0.1:2380',
    '--initial-cluster=default=http://127.0.0.1:2380',
    '--log-level=warn',
  ];
}

/** Flags of kube-apiserver. */
export function apiServerFlags(layout: ControlPlaneLayout): string[] {
  const pki = (name: string): string => join(layout.directory, 'pki', name);
  return [
    '--etcd-servers=http://127.0.0.1:2379',
    `--bind-address=${layout.address}`,
    `--advertise-address=${layout.address}`,
    `--secure-port=${API_SERVER_PORT}`,
    `--tls-cert-file=${pki('apiserver.crt')}`,
    `--tls-private-key-file=${pki('apiserver.key')}`,
    `--client-ca-file=${pki('ca.crt')}`,
    `--service-account-key-file=${pki('sa.pub')}`,
    `--service-account-signing-key-file=${pki('sa.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-cluster-ip-range=${layout.serviceCidr}`,
    '--authorization-mode=Node,RBAC',
    '--allow-privileged=true',
    // No node lifecycle controller runs here, so nobody would ever lift this plug-in's taint from a node.
    '--disable-admission-plugins=TaintNodesByCondition',
    `--requestheader-client-ca-file=${pki('front-proxy-ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-username-headers=X-Remote-User',
    `--proxy-client-cert-file=${pki('front-proxy-client.crt')}`,
    `--proxy-client-key-file=${pki('front-proxy-client.key')}`,
    `--kubelet-client-certificate=${pki('apiserver-kubelet-client.crt')}`,
    `--kubelet-client-key=${pki('apiserver-kubelet-client.key')}`,
  ];
}

/** Flags of kube-controller-manager. */
export function controllerManagerFlags(layout: ControlPlaneLayout): string[] {
  const kubeconfig = join(layout.directory, 'controller-manager.kubeconfig');
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    '--bind-address=127.0.0.1',
    '--leader-elect=false',
    '--use-service-account-credentials',
    `--controllers=${CONTROLLERS.join(',')}`,
    `--root-ca-file=${join(layout.directory, 'pki', 'ca.crt')}`,
    `--service-cluster-ip-range=${layout.serviceCidr}`,
    '--kube-api-qps=200',
    '--kube-api-burst=400',
  ];
}

/** Flags of kube-scheduler. */
export function schedulerFlags(layout: ControlPlaneLayout): string[] {
  const kubeconfig = join(layout.directory, 'scheduler.kubeconfig');
  return [`--kubeconfig=${kubeconfig}`, `--authentication-kubeconfig=${kubeconfig}`, `--authorization-kubeconfig=${kubeconfig}`, '--bind-address=127.0.0.1', '--leader-elect=false'];
}
