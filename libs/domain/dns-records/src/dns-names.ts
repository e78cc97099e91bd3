/** Lower case of ASCII letters only, as DNS compares names (RFC 4343). */
export const asciiLowerCase = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Whether DNS can carry the name (RFC 1035): Kubernetes names may be longer. */
export const isSayable = (name: string): boolean => name.length <= 253 && name.split('.').every((label) => label.length >= 1 && label.length <= 63);

/** The name without its first label. */
export const parentOf = (name: string): string => name.slice(name.indexOf('.') + 1);

/** Whether the name is the origin, or below it. */
export const isWithin = (name: string, origin: string): boolean => name.length === origin.length ? name === origin : name.endsWith(origin) && name.charAt(name.length - origin.length - 1) === '.';
