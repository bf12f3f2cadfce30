import { StateError } from '../../state/errors.ts';
import type { StateDurability } from '../../state/store.ts';
import type { Logger } from '../../util/logger.ts';

/** The durability that is required of a server: a sync before each commit resolves, or any. */
export type RequiredDurability = 'synced' | 'server';

/** The durability that the settings of a server promise. */
export interface FoundDurability {
  readonly durability: StateDurability;
  /** The setting that decides, for messages: `fsync is off`. */
  readonly reason: string;
  /** Whether this process has chosen it, and so need not hear of it. Default: false. */
  readonly isChosen?: boolean;
}

/** @throws StateError `failed` if the server promises less than is required. */
export function checkDurability(
  { durability, reason }: FoundDurability,
  required: RequiredDurability,
  server: string,
): void {
  if (required === 'server' || durability === 'synced') return;
  throw new StateError(
    'failed',
    `A commit on ${server} may not be on disk when it resolves (${reason}), and durability "synced" requires it. Change the server's settings, or accept them with durability: "server".`,
  );
}

/** Logs what a commit survives. */
export function logDurability(logger: Logger, server: string, { durability, reason, isChosen }: FoundDurability): void {
  if (isChosen) return;
  const fields = { server, durability, reason };
  if (durability === 'synced') logger.info(fields, 'the state store syncs each commit to disk');
  else if (durability === 'second')
    logger.warn(fields, 'a crash of the state server may lose the last second of commits');
  else if (durability === 'none')
    logger.warn(fields, 'a crash of the state server loses the commits since its last snapshot');
  else logger.warn(fields, 'the state server does not tell which commits a crash of it may lose');
}
