import { clusterId, type ImportedBackend } from '#domain/fleet';

import { FakeClock } from './fake-clock.js';
import { FakeHubLink } from './fake-hub-link.js';
import { HTTP_PORT, MODEL_BACKEND, readyEndpoints } from './fleet.fixture.js';
import { describeHubLink } from './hub-link.conformance.js';

const imported = (endpoints: number): ImportedBackend => ({
  name: MODEL_BACKEND,
  trafficClass: 'endpoints',
  sessionAffinity: 'None',
  providers: [{ clusterId: clusterId('east-1'), locality: { region: '', zone: '' }, path: 'direct', endpoints: readyEndpoints(endpoints), ports: [HTTP_PORT], readyAssumed: endpoints }],
  ports: [],
  conflicts: [],
  refusals: [],
  memberCount: 1,
  servingCount: 1,
});

describeHubLink('FakeHubLink', {
  open: async () => {
    const link = new FakeHubLink(new FakeClock());
    let tokens = 0;
    return {
      link,
      hub: {
        makeToken: async (name) => {
          tokens += 1;
          link.addToken(`token-${tokens}`, name);
          return `token-${tokens}`;
        },
        offer: async (endpoints) => link.setImport(imported(endpoints)),
        withdraw: async () => link.removeImport(MODEL_BACKEND),
        forgetMembers: async () => link.members.clear(),
        startAnew: async () => link.startEmpty('epoch-2'),
        close: async () => undefined,
      },
    };
  },
});
