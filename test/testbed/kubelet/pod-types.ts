import type { ApiObject } from '../kube-api/kube-api.js';

/** The parts of a Pod that the kubelet reads, as the API server has defaulted them. */
export interface Pod extends ApiObject {
  readonly spec: PodSpec;
  readonly status?: { readonly phase?: string; readonly conditions?: readonly PodCondition[]; readonly podIP?: string; readonly startTime?: string };
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly hostNetwork?: boolean;
  readonly hostname?: string;
  readonly subdomain?: string;
  readonly serviceAccountName?: string;
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  readonly dnsPolicy?: string;
  readonly dnsConfig?: { readonly nameservers?: readonly string[]; readonly searches?: readonly string[]; readonly options?: readonly { readonly name: string; readonly value?: string }[] };
  readonly enableServiceLinks?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly readinessGates?: readonly { readonly conditionType: string }[];
}

export interface PodCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string | null;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly restartPolicy?: 'Always';
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly EnvFrom[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly VolumeMount[];
  readonly resources?: { readonly limits?: Readonly<Record<string, string>>; readonly requests?: Readonly<Record<string, string>> };
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly lifecycle?: { readonly preStop?: LifecycleHandler };
}

export interface LifecycleHandler {
  readonly exec?: { readonly command: readonly string[] };
  readonly httpGet?: HttpGet;
  readonly sleep?: { readonly seconds: number };
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly resourceFieldRef?: { readonly resource: string; readonly containerName?: string };
    readonly configMapKeyRef?: KeyRef;
    readonly secretKeyRef?: KeyRef;
  };
}

export interface EnvFrom {
  readonly prefix?: string;
  readonly configMapRef?: { readonly name: string; readonly optional?: boolean };
  readonly secretRef?: { readonly name: string; readonly optional?: boolean };
}

export interface KeyRef {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly subPath?: string;
  readonly readOnly?: boolean;
}

export interface KeyToPath {
  readonly key: string;
  readonly path: string;
}

/** What a volume of files is projected from. */
export interface VolumeSource {
  readonly secret?: { readonly secretName?: string; readonly name?: string; readonly items?: readonly KeyToPath[]; readonly optional?: boolean };
  readonly configMap?: { readonly name: string; readonly items?: readonly KeyToPath[]; readonly optional?: boolean };
  readonly downwardAPI?: { readonly items?: readonly { readonly path: string; readonly fieldRef?: { readonly fieldPath: string } }[] };
  readonly serviceAccountToken?: { readonly audience?: string; readonly expirationSeconds?: number; readonly path: string };
}

export interface Volume extends VolumeSource {
  readonly name: string;
  readonly emptyDir?: object;
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly projected?: { readonly sources?: readonly VolumeSource[] };
}

export interface HttpGet {
  readonly path?: string;
  readonly port: number | string;
  readonly host?: string;
  readonly scheme?: 'HTTP' | 'HTTPS';
  readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
}

export interface Probe {
  readonly httpGet?: HttpGet;
  readonly tcpSocket?: { readonly port: number | string; readonly host?: string };
  readonly exec?: { readonly command: readonly string[] };
  readonly grpc?: { readonly port: number; readonly service?: string };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
  readonly successThreshold?: number;
}

/** A ConfigMap or a Secret, as far as files and variables come from it. */
export interface DataObject extends ApiObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

/** A Service, as far as variables come from it. */
export interface ServiceObject extends ApiObject {
  readonly spec: { readonly clusterIP?: string; readonly ports?: readonly { readonly name?: string; readonly port: number; readonly protocol?: string }[] };
}
