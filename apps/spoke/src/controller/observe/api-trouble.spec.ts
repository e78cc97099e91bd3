import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';

import { FleetError } from '#domain/fleet';

import { ApiTrouble } from './api-trouble.js';

function trouble() {
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const told = (): string[] => lines.map((line) => JSON.parse(line) as { code?: string; kind?: string; msg: string }).map(({ code = '', kind = '', msg }) => [code, kind, msg.slice(0, 20)].join(' '));
  return { trouble: new ApiTrouble(logger), told };
}
const away = new FleetError('KUBE_UNREACHABLE', 'transient', 'gone');
const refused = new FleetError('KUBE_FORBIDDEN', 'user', 'no');

describe('trouble with the API server', () => {
  it('an absence is told once for all watches, and so is its end', () => {
    const { trouble: api, told } = trouble();
    for (const kind of ['Pod', 'Node', 'Pod', 'Lease']) api.failed(kind, away);
    api.recovered();
    api.recovered();
    api.failed('Pod', away);
    expect(told()).toEqual(['KUBE_UNREACHABLE Pod the API server fails', '  the API server answe', 'KUBE_UNREACHABLE Pod the API server fails']);
  });
  it('a refusal is told once for each kind', () => {
    const { trouble: api, told } = trouble();
    for (const kind of ['Pod', 'Node', 'Pod']) api.failed(kind, refused);
    expect(told()).toEqual(['KUBE_FORBIDDEN Pod the API server refus', 'KUBE_FORBIDDEN Node the API server refus']);
  });
  it('what is no error of ours is told too', () => {
    const { trouble: api, told } = trouble();
    api.failed('Pod', new TypeError('x'));
    expect(told()).toEqual(['UNEXPECTED Pod the API server fails']);
  });
});
