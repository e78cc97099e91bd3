import { FleetError } from '#domain/fleet';

/** A C function with a blocking form and one that runs on a thread of the pool. Both give the C result. */
export interface ForeignFunction<Arguments extends readonly unknown[]> {
  (...args: Arguments): number;
  async(...args: [...Arguments, (error: unknown, result: number) => void]): void;
}

/** The few system calls that netlink needs, out of the C library that the process runs on. */
export interface Libc {
  readonly socket: ForeignFunction<[domain: number, type: number, protocol: number]>;
  readonly bind: ForeignFunction<[fd: number, address: Buffer, length: number]>;
  readonly getsockname: ForeignFunction<[fd: number, address: Buffer, length: Buffer]>;
  readonly setsockopt: ForeignFunction<[fd: number, level: number, option: number, value: Buffer, length: number]>;
  /** setsockopt with a filter program as its value. */
  readonly attachFilter: ForeignFunction<[fd: number, level: number, option: number, program: { readonly len: number; readonly filter: Buffer }, length: number]>;
  readonly send: ForeignFunction<[fd: number, bytes: Buffer, length: number, flags: number]>;
  readonly recv: ForeignFunction<[fd: number, bytes: Buffer, length: number, flags: number]>;
  readonly poll: ForeignFunction<[fds: Buffer, count: number, timeoutMs: number]>;
  readonly eventfd: ForeignFunction<[value: number, flags: number]>;
  readonly write: ForeignFunction<[fd: number, bytes: Buffer, length: number]>;
  readonly setns: ForeignFunction<[fd: number, type: number]>;
  readonly close: ForeignFunction<[fd: number]>;
  /** The error number of the last call in this thread, or of the asynchronous call whose callback runs. */
  errno(): number;
}

/** Loads the FFI library and binds the system calls. Throws FleetError NFT_UNAVAILABLE where that cannot be. */
export async function loadLibc(): Promise<Libc> {
  if (process.platform !== 'linux') {
    throw new FleetError('NFT_UNAVAILABLE', 'user', `nftables is Linux's; this is ${process.platform}`);
  }
  try {
    const { default: koffi } = await import('koffi');
    const library = koffi.load(null);
    const filterProgram = koffi.struct({ len: 'uint16_t', filter: 'const uint8_t *' });
    const bound = <Arguments extends readonly unknown[]>(declaration: string): ForeignFunction<Arguments> => library.func(declaration);
    return {
      socket: bound('int socket(int domain, int type, int protocol)'),
      bind: bound('int bind(int fd, const uint8_t *address, uint32_t length)'),
      getsockname: bound('int getsockname(int fd, uint8_t *address, uint8_t *length)'),
      setsockopt: bound('int setsockopt(int fd, int level, int option, const uint8_t *value, uint32_t length)'),
      attachFilter: library.func('setsockopt', 'int', ['int', 'int', 'int', koffi.pointer(filterProgram), 'uint32_t']) as Libc['attachFilter'],
      send: bound('int64_t send(int fd, const uint8_t *bytes, uint64_t length, int flags)'),
      recv: bound('int64_t recv(int fd, uint8_t *bytes, uint64_t length, int flags)'),
      poll: bound('int poll(uint8_t *fds, unsigned long count, int timeoutMs)'),
      eventfd: bound('int eventfd(unsigned int value, int flags)'),
      write: bound('int64_t write(int fd, const uint8_t *bytes, uint64_t length)'),
      setns: bound('int setns(int fd, int type)'),
      close: bound('int close(int fd)'),
      errno: () => koffi.errno(),
    };
  } catch (cause) {
    throw new FleetError('NFT_UNAVAILABLE', 'user', 'the FFI library koffi does not load here; the nft program is the other way', { cause });
  }
}
