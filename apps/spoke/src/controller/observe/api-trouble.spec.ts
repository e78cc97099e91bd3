import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';

import { FleetError } from '#domain/fleet';
import { FakeClock } from '#testing';

import { ApiTrouble } from './api-trouble.js';

function bench() {
  const lines: string[] = [];
  const clock = new FakeClock();
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const told = (): string[] => lines.map((line) => JSON.parse(line) as { code?: string; kinds?: string[]; msg: string }).map(({ code, kinds, msg }) => (code === undefined ? msg : `${code} ${kinds?.join()}`));
  return { clock, trouble: new ApiTrouble(clock, logger), told };
}
const away = new FleetError('KUBE_UNREACHABLE', 'transient', 'gone');
const refused = new FleetError('KUBE_FORBIDDEN', 'user', 'no');

describe('trouble with the API server', () => {
  it('an absence is told at once, once for all watches, and so is its end', () => {
    const { trouble, told } = bench();
    for (const kind of ['Pod', 'Node', 'Pod', 'Lease']) trouble.failed(kind, away);
    trouble.recovered();
    trouble.recovered();
    trouble.failed('Node', away);
    expect(told()).toEqual(['KUBE_UNREACHABLE Pod', 'the API server answers every watch again', 'KUBE_UNREACHABLE Node']);
  });
  it('a refusal is told when it lasts, once, with all that is refused', async () => {
    const { clock, trouble, told } = bench();
    for (const kind of ['Pod', 'Node', 'Pod']) trouble.failed(kind, refused);
    expect(told()).toEqual([]);
    await clock.advance(10_000);
    for (const kind of ['Pod', 'Node', 'Pod']) trouble.failed(kind, refused);
    expect(told()).toEqual(['KUBE_FORBIDDEN Node,Pod']);
  });
  it('a server that has not read its rules yet is no trouble', async () => {
    const { clock, trouble, told } = bench();
    trouble.failed('Pod', refused);
    trouble.recovered();
    await clock.advance(20_000);
    trouble.failed('Pod', refused);
    expect(told()).toEqual([]);
  });
  it('what is no error of ours is told too', () => {
    const { trouble, told } = bench();
    trouble.failed('Pod', new TypeError('x'));
    expect(told()).toEqual(['UNEXPECTED Pod']);
  });
});
