const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);

/** Whether a text is one canonical IPv4 address. */
export const isIpv4 = (text: string): boolean => IPV4.test(text);

/** Whether a number is a port that a connection can go to. */
export const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;
