import { FleetError, isFleetError } from '#domain/fleet';
import type { Nft } from '#ports';

/** A way to the kernel's nftables. */
export type NftWay = 'netlink' | 'program';

/** An open way to the kernel. */
export interface OpenedNft {
  readonly way: NftWay;
  readonly nft: Nft;
}

/** Opens a way to the kernel, or throws FleetError NFT_UNAVAILABLE that says what is missing. */
export type OpenNft = () => Promise<OpenedNft>;

/** Opens raw netlink, or the nft program where that cannot be. Each is loaded only when it is tried. */
export async function openNft(): Promise<OpenedNft> {
  try {
    const { NetlinkNft } = await import('#adapters/netlink');
    return { way: 'netlink', nft: await NetlinkNft.open() };
  } catch (byNetlink) {
    if (!isUnavailable(byNetlink)) throw byNetlink;
    try {
      const { NftProgram } = await import('#adapters/nft-program');
      return { way: 'program', nft: await NftProgram.open() };
    } catch (byProgram) {
      if (!isUnavailable(byProgram)) throw byProgram;
      throw new FleetError('NFT_UNAVAILABLE', 'user', `${byNetlink.message}; ${byProgram.message}`, { cause: byNetlink });
    }
  }
}

const isUnavailable = (error: unknown): error is FleetError => isFleetError(error) && error.code === 'NFT_UNAVAILABLE';
