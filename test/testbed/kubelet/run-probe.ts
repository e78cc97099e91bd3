import { execFile } from 'node:child_process';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';

import { findProcess, processEnvironment } from '../machine-room/process-identity.js';
import { besideContainer } from './container-root.js';
import type { Container, HttpGet, Probe } from './pod-types.js';

/** Where a probe goes: the pod's address, seen from its node. */
export interface ProbeTarget {
  readonly podIp: string;
  readonly container: Container;
  readonly pid: number;
}

/** Runs a probe once. Undefined: it passed. Otherwise the reason in words. */
export async function runProbe(probe: Probe, target: ProbeTarget): Promise<string | undefined> {
  const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
  if (probe.httpGet !== undefined) return probeHttp(probe.httpGet, target, timeoutMs);
  if (probe.tcpSocket !== undefined) return probeTcp(probe.tcpSocket.host ?? target.podIp, portNumber(probe.tcpSocket.port, target.container), timeoutMs);
  if (probe.exec !== undefined) return probeExec(probe.exec.command, target.pid, timeoutMs);
  return 'the testbed has only httpGet, tcpSocket and exec probes';
}

/** Sends the request of a probe or a lifecycle hook. */
export function probeHttp(get: HttpGet, target: ProbeTarget, timeoutMs: number): Promise<string | undefined> {
  const isTls = get.scheme === 'HTTPS';
  const options = {
    host: get.host ?? target.podIp,
    port: portNumber(get.port, target.container),
    path: get.path ?? '/',
    headers: { 'user-agent': 'kube-probe/1.37', connection: 'close', ...Object.fromEntries((get.httpHeaders ?? []).map((header) => [header.name, header.value])) },
    agent: false as const,
    timeout: timeoutMs,
  };
  return new Promise((resolve) => {
    // As on a real node, the certificate of a probed server is not checked.
    const outgoing = isTls ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options);
    outgoing.on('response', (response) => {
      response.resume();
      const status = response.statusCode ?? 0;
      resolve(status >= 200 && status < 400 ? undefined : `HTTP probe failed with statuscode: ${status}`);
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    outgoing.on('error', (error) => resolve(`HTTP probe failed: ${error.message}`));
    outgoing.end();
  });
}

function probeTcp(host: string, port: number, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const finish = (reason: string | undefined): void => {
      socket.destroy();
      resolve(reason);
    };
    socket.on('connect', () => finish(undefined));
    socket.on('timeout', () => finish(`no connection within ${timeoutMs} ms`));
    socket.on('error', (error) => finish(error.message));
  });
}

function probeExec(command: readonly string[], pid: number, timeoutMs: number): Promise<string | undefined> {
  if (findProcess(pid) === undefined) return Promise.resolve('the container does not run');
  const [program = '', ...args] = besideContainer(pid, command);
  return new Promise((resolve) => {
    execFile(program, args, { timeout: timeoutMs, killSignal: 'SIGKILL', env: { ...processEnvironment(pid) } }, (error, stdout, stderr) => resolve(error === null ? undefined : `${stdout}${stderr}`.trim() || error.message));
  });
}

function portNumber(port: number | string, container: Container): number {
  if (typeof port === 'number') return port;
  return container.ports?.find((candidate) => candidate.name === port)?.containerPort ?? Number(port);
}
