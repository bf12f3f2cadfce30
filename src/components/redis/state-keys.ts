/** The keys of a state store, and the prefix of its sessions. */
const NAMES = ['meta', 'keys', 'versions', 'values', 'sessions'];
const CHANGES = 'changes';

export const DEFAULT_PREFIX = 'insidecar';

/** The keys of a state store with this prefix: all in one slot of a cluster. */
export function stateKeys(prefix: string): readonly string[] {
  return NAMES.map((name) => stateKey(prefix, name));
}

/** The channel on which a state store announces changes. */
export function changesChannel(prefix: string): string {
  return stateKey(prefix, CHANGES);
}

function stateKey(prefix: string, name: string): string {
  return `{${prefix}}:${name}`;
}

const RESERVED = new RegExp(`^\\{(?:${DEFAULT_PREFIX}\\}|[^{}]+\\}:(?:${[...NAMES, CHANGES].join('|')})(?::|$))`);

/**
 * Whether a key is one that a state store on this server has or will need, whatever its prefix: the store may be that of
 * another sidecar.
 */
export function isStateKey(key: string): boolean {
  return RESERVED.test(key);
}
