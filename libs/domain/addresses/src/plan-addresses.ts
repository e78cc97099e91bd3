import type { NamespacedName } from '#domain/fleet';

import type { AddressClaim, IpAddress } from './address-claim.js';
import { addressOwners, keyOf, type AddressOwners } from './address-owners.js';
import type { AddressAssignment, AddressInput, AddressPlan, NewIpAddress, UnmetWish } from './address-plan.js';
import { chooseAddress } from './choose-address.js';
import { formatIp, ipFamily, parseIp, type IpFamily } from './ip-text.js';
import { protectCidrs, serviceRanges, type ServiceRanges } from './service-ranges.js';

/**
 * Decides who gets which address (R2–R7). An address that a Gateway holds stays with it; one that it wishes for by value is
 * honoured or refused, never substituted; of two that wish for one free address, the older gets it.
 */
export function planAddresses(input: AddressInput): AddressPlan {
  const context: Context = { input, owners: addressOwners(input), ranges: serviceRanges(input.serviceCidrs), given: new Map() };
  const claims = [...input.claims].sort(byAge);
  // Every wish by value goes before any free choice, lest a choice take what somebody asked for.
  const fixed = new Map(claims.map((claim) => [keyOf(claim), settleStatic(claim, context)]));
  const settled = claims.map((claim) => ({ claim, ...settleDynamic(claim, fixed.get(keyOf(claim)) ?? NOTHING, context) }));
  const remove = removable(settled, context);
  const removed = new Set(remove.map(({ name }) => name));
  const kept = [...context.owners.ours.values()].flat().filter(({ name }) => !removed.has(name));
  return {
    assignments: new Map(settled.map(({ claim, held, unmet }) => [keyOf(claim), { held, unmet }])),
    addFinalizers: settled.filter(({ claim, held, create }) => claim.mode === 'claim' && !claim.hasFinalizer && held.length + create.length > 0).map(({ claim }) => nameOf(claim)),
    create: settled.flatMap(({ create }) => create),
    remove: remove.map(({ name, uid }) => ({ name, uid })),
    removeFinalizers: settled.filter(({ claim }) => isReleased(claim, context)).map(({ claim }) => nameOf(claim)),
    ...protectCidrs(input.serviceCidrs, [...kept.map(({ name }) => name), ...context.given.keys()]),
  };
}

interface Context {
  readonly input: AddressInput;
  readonly owners: AddressOwners;
  readonly ranges: ServiceRanges;
  /** Addresses about to be created in this plan, and for whom. */
  readonly given: Map<string, NamespacedName>;
}

interface Settlement extends AddressAssignment {
  readonly create: readonly NewIpAddress[];
}

const NOTHING: Settlement = { held: [], unmet: [], create: [] };
const nameOf = ({ namespace, name }: NamespacedName): NamespacedName => ({ namespace, name });
const byAge = (a: AddressClaim, b: AddressClaim): number => a.createdAtMs - b.createdAtMs || (keyOf(a) < keyOf(b) ? -1 : 1);
const oursOf = (claim: AddressClaim, { owners }: Context): readonly IpAddress[] => owners.ours.get(keyOf(claim)) ?? [];

function settleStatic(claim: AddressClaim, context: Context): Settlement {
  if (claim.mode !== 'claim') return NOTHING;
  const settled = claim.wishes.flatMap((wish) => {
    if (wish.kind === 'dynamic') return [];
    return [wish.kind === 'static' ? settleValue(wish.value, claim, context) : unmet(wish.value, 'impossible', wish.message)];
  });
  return settled.reduce(join, NOTHING);
}

const join = (a: Settlement, b: Settlement): Settlement => ({ held: [...a.held, ...b.held], unmet: [...a.unmet, ...b.unmet], create: [...a.create, ...b.create] });

function settleValue(value: string, claim: AddressClaim, context: Context): Settlement {
  const ip = parseIp(value);
  if (ip === undefined) return unmet(value, 'malformed', `Address "${value}" is no IP address.`);
  const address = formatIp(ip);
  if (oursOf(claim, context).some(({ name }) => name === address)) return { ...NOTHING, held: [address] };
  const place = context.ranges.placeOf(ip);
  if (place === 'outside') return unmet(value, 'outside', `Address ${address} lies in no Ready ServiceCIDR; choose one of the service range.`);
  if (place === 'reserved') return unmet(value, 'reserved', `Address ${address} is the first or last of its ServiceCIDR, which nobody may have.`);
  const owner = ownerOf(address, context);
  return owner === undefined ? give(address, claim, context) : unmet(value, 'taken', `Address ${address} belongs to ${owner}; choose another.`);
}

const unmet = (value: string, cause: UnmetWish['cause'], message: string, isOptional = false): Settlement => ({ ...NOTHING, unmet: [{ value, cause, isOptional, message }] });

function ownerOf(address: string, { owners, given }: Context): string | undefined {
  const other = given.get(address);
  return other === undefined ? owners.ownerOf(address) : `Gateway "${keyOf(other)}", which is older`;
}

function give(address: string, claim: AddressClaim, { given }: Context, isOptional = false): Settlement {
  given.set(address, nameOf(claim));
  return { ...unmet(address, 'pending', `Address ${address} is being reserved.`, isOptional), create: [{ address, family: ipFamily(address), gateway: nameOf(claim) }] };
}

function settleDynamic(claim: AddressClaim, fixed: Settlement, context: Context): Settlement {
  if (claim.mode === 'hold') return { ...NOTHING, held: oursOf(claim, context).map(({ name }) => name) };
  if (claim.mode === 'release' || !claim.wishes.some(({ kind }) => kind === 'dynamic')) return fixed;
  return join(settleAny(claim, fixed, context), fixed);
}

/** Any address: one of each family that the service range has, and of each that the Gateway holds already (R2). */
function settleAny(claim: AddressClaim, fixed: Settlement, context: Context): Settlement {
  const spare = oursOf(claim, context).map(({ name }) => name).filter((name) => !fixed.held.includes(name));
  const families = [...new Set([...context.ranges.families, ...spare.map(ipFamily)])];
  if (families.length === 0) return unmet('', 'exhausted', 'There is no Ready ServiceCIDR to take an address from.');
  // Callers have something to call as soon as one family has an address; the other one then comes beside it.
  const isServed = claim.known.length > 0 && spare.length > 0;
  const settled = families.map((family) => settleFamily(family, { claim, spare, isServed }, context));
  const hasSome = settled.some(({ held, create }) => held.length + create.length > 0);
  return settled.map((one) => (hasSome ? optionalIfExhausted(one) : one)).reduce(join, NOTHING);
}

const optionalIfExhausted = (settlement: Settlement): Settlement => ({ ...settlement, unmet: settlement.unmet.map((wish) => ({ ...wish, isOptional: wish.isOptional || wish.cause === 'exhausted' })) });

interface AnyWish {
  readonly claim: AddressClaim;
  /** What it holds beside its wishes by value. */
  readonly spare: readonly string[];
  readonly isServed: boolean;
}

function settleFamily(family: IpFamily, { claim, spare, isServed }: AnyWish, context: Context): Settlement {
  const isOfFamily = (address: string): boolean => ipFamily(address) === family;
  const known = claim.known.filter(isOfFamily);
  const kept = known.find((address) => spare.includes(address)) ?? spare.find(isOfFamily);
  if (kept !== undefined) return { ...NOTHING, held: [kept] };
  const isFree = (address: string): boolean => ownerOf(address, context) === undefined;
  const address = known.find((candidate) => isReclaimable(candidate, context) && isFree(candidate)) ?? chooseFree(family, context, (candidate) => !isFree(candidate));
  return address === undefined ? unmet('', 'exhausted', `Every ${family} address of the Ready ServiceCIDRs is taken; add a ServiceCIDR.`) : give(address, claim, context, isServed);
}

// Callers know the Gateway by it: should its IPAddress be gone while the address is free, it gets the same one back.
function isReclaimable(address: string, { ranges }: Context): boolean {
  const ip = parseIp(address);
  return ip !== undefined && formatIp(ip) === address && ranges.placeOf(ip) === 'usable';
}

function chooseFree(family: IpFamily, { ranges, input }: Context, isTaken: (address: string) => boolean): string | undefined {
  const random = input.random();
  for (const bands of ranges.bands(family)) {
    const address = chooseAddress(bands, isTaken, random);
    if (address !== undefined) return address;
  }
  return undefined;
}

/** IPAddresses of ours that nobody should have any more, unless some node still leads there. */
function removable(settled: readonly ({ readonly claim: AddressClaim } & Settlement)[], { owners, input }: Context): readonly IpAddress[] {
  const wanted = new Set(settled.flatMap(({ held }) => held));
  const idle = [...owners.ours.values()].flat().filter(({ name }) => !wanted.has(name) && !input.stillProgrammed.has(name));
  return [...owners.stolen, ...idle];
}

// The finalizer goes when the last address is gone for good, not when its removal is merely planned.
function isReleased(claim: AddressClaim, context: Context): boolean {
  const hasStolen = context.owners.stolen.some(({ parent }) => parent !== undefined && keyOf(parent) === keyOf(claim));
  return claim.mode === 'release' && claim.hasFinalizer && oursOf(claim, context).length === 0 && !hasStolen;
}
