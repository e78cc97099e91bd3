/** Annotation of the spoke's own Namespace by which it is asked to leave; its value is the request's id. */
export const LEAVE_ANNOTATION = 'spillway.dev/leave';
/** Annotation by which the spoke says that it has left; its value repeats the request's id. */
export const LEFT_ANNOTATION = 'spillway.dev/left';

const INSTALLATION_PREFIX = 'installation/';

/**
 * The request that one installation of the spoke leaves, told by the UID of its controller's ServiceAccount: in a Namespace
 * that outlives it, the next installation is not asked.
 */
export const installationRequest = (serviceAccountUid: string): string => `${INSTALLATION_PREFIX}${serviceAccountUid}`;

/** The installation that a request is for; undefined where it is for whichever is there. */
export const installationOf = (request: string): string | undefined => (request.startsWith(INSTALLATION_PREFIX) ? request.slice(INSTALLATION_PREFIX.length) : undefined);
