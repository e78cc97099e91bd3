import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it } from '@jest/globals';

import { ERROR_CODE_HEADER, SPOKE_API_ERRORS } from '#contracts/spoke-api';

import { toLinkError } from './link-errors.js';

const linkError = (hubCode: string, code: Code) => toLinkError(new ConnectError('the hub said why', code, { [ERROR_CODE_HEADER]: hubCode }), 'https://hub.test');

describe('link errors', () => {
  it.each(Object.keys(SPOKE_API_ERRORS))('%s has a meaning of its own, whatever its Connect code, and keeps the words of the hub', (hubCode) => {
    const error = linkError(hubCode, Code.InvalidArgument);
    expect(error.message).toBe(`https://hub.test: ${hubCode}: the hub said why`);
    expect(linkError(hubCode, Code.Unavailable)).toMatchObject({ code: error.code, kind: error.kind });
    // A report is spoken of only where there was one.
    expect(error.code === 'HUB_INVALID_REPORT').toBe(hubCode.includes('REPORT'));
  });

  it.each([
    ['INVALID_ENROLMENT', 'HUB_INVALID_ENROLMENT', 'user'],
    ['INVALID_SYNC', 'HUB_INVALID_SYNC', 'bug'],
    ['ENROL_UID_TAKEN', 'HUB_UID_TAKEN', 'user'],
    ['BODY_TOO_LARGE', 'HUB_TOO_LARGE', 'user'],
    ['AUTH_TIME', 'HUB_CLOCK', 'user'],
    ['AUTH_REPLAYED', 'HUB_UNAVAILABLE', 'transient'],
    ['INTERNAL', 'HUB_INTERNAL', 'transient'],
  ])('%s is %s, and %s acts', (hubCode, code, kind) => {
    expect(linkError(hubCode, Code.Unknown)).toMatchObject({ code, kind });
  });

  it.each([
    [Code.Unauthenticated, 'HUB_UNAUTHENTICATED'],
    [Code.InvalidArgument, 'HUB_MALFORMED'],
    [Code.Unimplemented, 'HUB_UNAVAILABLE'],
    [Code.Unavailable, 'HUB_UNAVAILABLE'],
  ])('an answer without a code of ours goes by its Connect code %s: %s', (code, want) => {
    expect(linkError('', code).code).toBe(want);
    expect(linkError('NOT_YET_INVENTED', code).code).toBe(want);
    expect(linkError('toString', code).code).toBe(want);
  });
});
