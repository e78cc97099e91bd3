export { startDnsRole, type DnsRole, type DnsRoleParts } from './dns-role.js';
