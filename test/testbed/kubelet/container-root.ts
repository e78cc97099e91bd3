import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** One directory or file that a container sees at a path of its own. */
export interface RootMount {
  readonly from: string;
  readonly to: string;
  readonly readOnly: boolean;
}

/** Everything the private view of a container is made of. */
export interface ContainerRoot {
  /** An existing empty directory on the node to build the view on. */
  readonly scaffold: string;
  readonly hostname: string;
  readonly resolvConf: string;
  readonly hosts: string;
  readonly mounts: readonly RootMount[];
  /** Shown empty inside. */
  readonly hiddenDirectories: readonly string[];
  readonly bindDirectories: readonly string[];
  readonly workingDirectory: string;
}

/** The file descriptor on which a container's process writes once, just before it becomes the container's program. */
export const STARTED_PIPE = 3;

/**
 * The command that becomes `command` inside a private view of the file system: a writable layer over the machine's own root
 * that is gone with its last process, volumes at their paths, own resolv.conf, hosts and host name. Every step replaces the
 * one before (exec), so the pid that is started is the container's.
 */
export function containerCommand(root: ContainerRoot, podNamespace: string | undefined, command: readonly string[]): string[] {
  mkdirSync(root.scaffold, { recursive: true });
  const enter = podNamespace === undefined ? [] : ['nsenter', `--net=/run/netns/${podNamespace}`, '--'];
  return [...enter, 'unshare', '--mount', '--uts', '--propagation', 'private', 'sh', '-ec', rootScript(root), 'container', ...command];
}

/** The command that runs `command` beside a container's process, in all its namespaces. */
export function besideContainer(pid: number, command: readonly string[]): string[] {
  return ['nsenter', `--target=${pid}`, '--net', '--mount', '--uts', '--root', '--wd', '--', ...command];
}

/** Outside: the layer over the machine's root, and what comes from elsewhere bound to numbered places in it. */
function rootScript(root: ContainerRoot): string {
  const base = quote(root.scaffold);
  const inside = (path: string): string => quote(join(root.scaffold, 'root', path));
  return [
    `mount -t tmpfs -o mode=755 tmpfs ${base}`,
    `mkdir ${base}/upper ${base}/work ${base}/root`,
    `mount -t overlay overlay -o lowerdir=/,upperdir=${base}/upper,workdir=${base}/work ${base}/root`,
    ...['/proc', '/sys', '/dev', ...root.bindDirectories].flatMap((path) => [`mkdir -p ${inside(path)}`, `mount --rbind ${quote(path)} ${inside(path)}`]),
    ...root.mounts.flatMap((mount, index) => sourceLines(mount, inside(`${SOURCES}/${index}`))),
    `cd ${base}/root`,
    `exec chroot . sh -ec ${quote(insideScript(root))} "$0" "$@"`,
  ].join('\n');
}

/** Inside: links such as /var/run lead where they lead in the container, never to the machine's own files. */
function insideScript(root: ContainerRoot): string {
  return [
    ...root.mounts.flatMap((mount, index) => targetLines(mount, `${SOURCES}/${index}`)),
    'rm -f /etc/resolv.conf /etc/hosts',
    `printf %s ${quote(root.resolvConf)} > /etc/resolv.conf`,
    `printf %s ${quote(root.hosts)} > /etc/hosts`,
    ...root.hiddenDirectories.map((path) => `mount -t tmpfs -o mode=700,size=4k tmpfs ${quote(path)}`),
    `hostname ${quote(root.hostname)}`,
    `cd ${quote(root.workingDirectory)}`,
    `echo started >&${STARTED_PIPE}`,
    `exec ${STARTED_PIPE}>&-`,
    'exec "$@"',
  ].join('\n');
}

const SOURCES = '/.testbed-volumes';

function sourceLines(mount: RootMount, place: string): string[] {
  const from = quote(mount.from);
  return isFile(mount.from) ? [`mkdir -p "$(dirname ${place})"`, `touch ${place}`, `mount --bind ${from} ${place}`] : [`mkdir -p ${from} ${place}`, `mount --bind ${from} ${place}`];
}

function targetLines(mount: RootMount, place: string): string[] {
  const to = quote(mount.to);
  return [
    ...(isFile(mount.from) ? [`mkdir -p ${quote(dirname(mount.to))}`, `touch ${to}`] : [`mkdir -p ${to}`]),
    `mount --bind ${place} ${to}`,
    ...(mount.readOnly ? [`mount -o remount,bind,ro ${to}`] : []),
  ];
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
