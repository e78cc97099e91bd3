/**
 * Whether an IP address or host name is the caller's own machine or link: loopback, link-local (cloud metadata services
 * live there) or unspecified. A hub that other people hand kubeconfigs to must not be talked into calling those.
 */
export function isLocalAddress(host: string): boolean {
  const text = host.replace(/^\[|\]$/g, '').toLowerCase().replace(/\.$/, '');
  if (text === 'localhost' || text.endsWith('.localhost') || text === 'localhost.localdomain') return true;
  if (!text.includes(':')) return isLocalIpv4(text);
  const canonical = canonicalIpv6(text);
  if (canonical === undefined) return false;
  const embedded = /^(?:::|::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical);
  if (embedded !== null) return isLocalIpv4(ipv4OfGroups(embedded[1] ?? '', embedded[2] ?? ''));
  return canonical === '::1' || canonical === '::' || /^fe[89ab][0-9a-f]:/.test(canonical) || canonical === 'fd00:ec2::254';
}

// Metadata services of clouds that do not use link-local addresses: Alibaba's, Azure's and Oracle's.
const METADATA_ADDRESSES: ReadonlySet<string> = new Set(['100.100.100.200', '168.63.129.16', '192.0.0.192']);

const isLocalIpv4 = (text: string): boolean => /^(127|0)\.\d+\.\d+\.\d+$/.test(text) || /^169\.254\.\d+\.\d+$/.test(text) || METADATA_ADDRESSES.has(text);

// The URL parser knows every spelling of an address and has one canonical form.
function canonicalIpv6(text: string): string | undefined {
  const withoutZone = text.split('%')[0] ?? text;
  const url = `http://[${withoutZone}]`;
  return URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : undefined;
}

function ipv4OfGroups(high: string, low: string): string {
  const bits = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => Math.floor(bits / 2 ** shift) % 256).join('.');
}
