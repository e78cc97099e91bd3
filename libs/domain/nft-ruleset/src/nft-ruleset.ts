/** The node's nftables table as data and as text. */
export interface NftRuleset {
  /** The whole table in nft's own language, loadable with `nft -f`. */
  readonly text: string;
}
