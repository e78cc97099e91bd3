import { execFile } from 'node:child_process';

/** Runs a short command to its end and returns what it printed; throws with its own words where it fails. */
export async function runCommand(command: string, args: readonly string[], options: { readonly input?: string; readonly env?: NodeJS.ProcessEnv; readonly cwd?: string; readonly timeoutMs?: number } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      command,
      [...args],
      { maxBuffer: 64 * 1024 * 1024, timeout: options.timeoutMs ?? 60_000, ...(options.env === undefined ? {} : { env: options.env }), ...(options.cwd === undefined ? {} : { cwd: options.cwd }) },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${command} ${args.join(' ')}: ${stderr.trim() === '' ? error.message : stderr.trim()}`, { cause: error }));
      },
    );
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(options.input ?? '');
  });
}

/** Runs `ip` commands, one per line, in one call; in the named network namespace where one is given. */
export async function runIp(lines: readonly string[], namespace?: string): Promise<void> {
  if (lines.length === 0) return;
  await runCommand('ip', [...(namespace === undefined ? [] : ['-n', namespace]), '-batch', '-'], { input: `${lines.join('\n')}\n` });
}

/** Sets kernel parameters (`net.ipv4.ip_forward=1`) inside a network namespace. */
export async function setKernelParameters(namespace: string, parameters: readonly string[]): Promise<void> {
  const script = parameters.map((parameter) => {
    const [name = '', value = ''] = parameter.split('=');
    return `echo ${value} > /proc/sys/${name.replaceAll('.', '/')}`;
  });
  await runCommand('nsenter', [`--net=/run/netns/${namespace}`, 'sh', '-ec', script.join('\n')]);
}
