/** The one address plan of all fixtures: who has which range, so that an address in a failing test says whose it is. */
export const ADDRESS_PLAN = {
  /** Service range of every cluster: they overlap, as in real fleets. */
  serviceCidr: '172.30.0.0/16',
  podCidr: { 'east-1': '10.1.0.0/16', 'west-1': '10.2.0.0/16', 'north-1': '10.3.0.0/16' },
  /** Documentation range (RFC 5737): callers from outside any cluster. */
  outsiders: '203.0.113.0/24',
} as const;
