const LENGTH_MAX = 500;

/** A text short enough for a log line and a refusal, whatever the peer put into it. */
export const shortText = (text: string): string => (text.length > LENGTH_MAX ? `${text.slice(0, LENGTH_MAX)}…` : text);
