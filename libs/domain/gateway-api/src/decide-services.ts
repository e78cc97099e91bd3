import { byKey, type Lookup } from '#domain/fleet';

import { parseServiceParentKey } from './bind-service-route.js';
import { serveRoutes, type Attachments } from './decide-routes.js';
import type { AcceptedFrontend, AcceptedListener } from './gateway-decisions.js';
import { importDnsNames } from './names.js';
import type { ServiceImportObject, ServiceObject } from './objects.js';

/** The Services that accepted routes have taken over: of each, the ports that they name and no others, under the Service's own addresses. */
export function serviceFrontends(attachments: Attachments, services: Lookup<ServiceObject>): readonly AcceptedFrontend[] {
  return [...attachments].flatMap(([parentKey, byPort]) => {
    const { serviceKey, callers } = parseServiceParentKey(parentKey);
    const service = services.get(serviceKey);
    if (service === undefined || byPort.size === 0) return [];
    const listeners = [...byPort].map(([number, routes]): AcceptedListener => {
      const port = Number(number);
      const name = service.ports.find((one) => one.port === port && one.protocol === 'TCP')?.name ?? '';
      return serveRoutes({ name: listenerName({ name, port, protocol: 'TCP' }), port, protocol: 'TCP' }, routes);
    });
    return [
      {
        kind: 'service',
        callersNamespace: callers,
        isHeadless: false,
        namespace: service.namespace,
        name: service.name,
        addresses: [...service.clusterIps].sort(),
        // The cluster's own DNS answers for a Service, as ever.
        dnsNames: [],
        listeners: listeners.sort(byKey((listener) => listener.name)),
      },
    ];
  });
}

/** The ServiceImports: each port leads to the endpoints of the whole clusterset, under the addresses that the import says. */
export const importFrontends = (imports: readonly ServiceImportObject[]): readonly AcceptedFrontend[] =>
  imports
    .filter(({ meta }) => !meta.isDeleting)
    .map(({ meta: { namespace, name }, type, addresses, ports }) => ({
      kind: 'service-import',
      callersNamespace: undefined,
      isHeadless: type === 'Headless',
      namespace,
      name,
      addresses: [...addresses].sort(),
      dnsNames: importDnsNames({ namespace, name }),
      listeners: ports.flatMap((port) => importListener({ namespace, name }, port)).sort(byKey((listener) => listener.name)),
    }));

function importListener(serviceImport: { readonly namespace: string; readonly name: string }, { name, port, protocol }: ServiceImportObject['ports'][number]): readonly AcceptedListener[] {
  if (protocol !== 'TCP' && protocol !== 'UDP') return [];
  return [{ name: listenerName({ name, port, protocol }), port, protocol, targets: [{ kind: 'import', ...serviceImport, port: { port, protocol }, weight: 1 }], rejectWeight: 0 }];
}

/** The only port of a Service may have no name. */
const listenerName = ({ name, port, protocol }: { readonly name: string; readonly port: number; readonly protocol: string }): string => (name === '' ? `${protocol.toLowerCase()}-${port}` : name);
