import { constants } from 'node:os';

import { FleetError } from '#domain/fleet';

const NAMES = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));

/** The errno values that this adapter decides by. */
export const ERRNO = constants.errno;

/** Another state of the rulesets than a batch was made for; the kernel's own number, which the C library does not know. */
export const ERESTART = 85;

/** The name of an errno, such as `ENOENT`. */
const errnoName = (errno: number): string => NAMES.get(errno) ?? `errno ${errno}`;

const DENIED: readonly number[] = [ERRNO.EPERM, ERRNO.EACCES];
const UNSUPPORTED: readonly number[] = [ERRNO.EPROTONOSUPPORT, ERRNO.EAFNOSUPPORT, ERRNO.EOPNOTSUPP];
const PASSING: readonly number[] = [ERRNO.EBUSY, ERRNO.EAGAIN, ERRNO.EINTR, ERRNO.ENOBUFS, ERRNO.ENOMEM, ERESTART];

/** Turns a kernel error into the error that the Nft port promises. `doing` says what was being done. */
export function kernelError(errno: number, doing: string, kernelMessage = ''): FleetError {
  const what = `${errnoName(errno)}${kernelMessage === '' ? '' : ` (${kernelMessage})`} while ${doing}`;
  if (DENIED.includes(errno)) return new FleetError('NFT_UNAVAILABLE', 'user', `${what}: the process needs the capability NET_ADMIN`);
  if (UNSUPPORTED.includes(errno)) return new FleetError('NFT_UNAVAILABLE', 'user', `${what}: this kernel lacks what the table needs (nf_tables with nat, fib and reject)`);
  if (PASSING.includes(errno)) return new FleetError('NFT_BUSY', 'transient', `${what}: it is tried again`);
  return new FleetError('NFT_REJECTED', 'bug', what);
}
