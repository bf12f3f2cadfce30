/** The names that a key prefix may be made of. */
export interface PrefixWords {
  /** The name of the component. */
  readonly name: string;
  readonly appId: string;
}

/**
 * The prefix of keys that `keyPrefix` of a component means, without a separator: `appid` (the default), `name`, or another
 * word, which stands for itself in lower case. Empty for `none`.
 */
export function keyPrefixText(keyPrefix: string | undefined, { name, appId }: PrefixWords): string {
  const word = (keyPrefix ?? 'appid').toLowerCase();
  if (word === 'none') return '';
  if (word === 'appid') return appId;
  return word === 'name' ? name : word;
}
