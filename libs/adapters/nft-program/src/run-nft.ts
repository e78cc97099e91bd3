import { spawn } from 'node:child_process';

import { FleetError } from '#domain/fleet';

/** How to call the program. */
export interface NftCommand {
  readonly program: string;
  readonly leadingArguments: readonly string[];
}

/** The `nft` on PATH, inside a network namespace where one is given. */
export const nftCommand = (networkNamespace?: string): NftCommand =>
  networkNamespace === undefined ? { program: 'nft', leadingArguments: [] } : { program: 'nsenter', leadingArguments: [`--net=${networkNamespace}`, 'nft'] };

/** What a run of the program wrote, and under which process id. */
export interface NftRun {
  readonly output: string;
}

/** Runs nft once with a script on its input. Throws the errors that the Nft port promises. */
export async function runNft(command: NftCommand, run: { readonly arguments: readonly string[]; readonly input?: string; readonly onStart?: (pid: number) => void }): Promise<NftRun> {
  const child = spawn(command.program, [...command.leadingArguments, ...run.arguments], { stdio: ['pipe', 'pipe', 'pipe'] });
  if (child.pid !== undefined) run.onStart?.(child.pid);
  const output: Buffer[] = [];
  const complaint: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => complaint.push(chunk));
  // A program that ends early closes its input; its own complaint says why.
  child.stdin.on('error', () => undefined);
  child.stdin.end(run.input ?? '');
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (cause) => reject(new FleetError('NFT_UNAVAILABLE', 'user', 'the program nft does not run: install nftables', { cause })));
    child.once('close', resolve);
  });
  if (code === 0) return { output: Buffer.concat(output).toString() };
  throw nftError(Buffer.concat(complaint).toString(), `nft ${run.arguments.join(' ')}`);
}

const COMPLAINT_LENGTH_MAX = 500;

// nft prints the C library's English words for errno; no locale changes them, since it never sets one.
function nftError(complaint: string, doing: string): FleetError {
  const what = `${complaint.trim().slice(0, COMPLAINT_LENGTH_MAX)} while running ${doing}`;
  if (/Operation not permitted|Permission denied/.test(complaint)) return new FleetError('NFT_UNAVAILABLE', 'user', `${what}: the process needs the capability NET_ADMIN`);
  if (/Operation not supported|Protocol not supported/.test(complaint)) return new FleetError('NFT_UNAVAILABLE', 'user', `${what}: this kernel lacks what the table needs`);
  if (/Device or resource busy|Resource temporarily unavailable|Interrupted system call|No buffer space/.test(complaint)) return new FleetError('NFT_BUSY', 'transient', what);
  return new FleetError('NFT_REJECTED', 'bug', what);
}

/** Whether an error of {@link runNft} says that what was asked about does not exist. */
export const isNotFound = (error: unknown): boolean => error instanceof FleetError && /No such file or directory/.test(error.message);
