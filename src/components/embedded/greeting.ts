import { quote, StateError, type StateErrorKind } from '../../state/errors.ts';
import { VERSION } from '../../version.ts';
import { inUseText } from './directory.ts';
import { GUEST_PROTOCOL, type Hello, isProof, proofOf, type Welcome } from './guest-protocol.ts';
import { SCHEMA_VERSION } from './migrations.ts';

/**
 * Reads the first frame of a guest.
 *
 * @param key - of the record of the holder
 * @returns `undefined` if the guest has not read the present record: it will try again, with that one
 * @throws StateError if it cannot be admitted
 */
export function readHello(frame: Buffer, path: string, key: string): Hello | undefined {
  const hello = objectIn(frame) as Partial<Hello> | undefined;
  if (typeof hello?.protocol !== 'number')
    throw new StateError('invalid', `This is the socket of the state directory ${quote(path)} of insidecar.`);
  const { protocol, schema, release, listens = false, proof = '' } = hello;
  const stop = 'Stop the processes of one of the two releases first.';
  const own = `${inUseText(path)}, with insidecar ${VERSION}`;
  if (protocol !== GUEST_PROTOCOL)
    throw new StateError(
      'in-use',
      `${own}, which has version ${GUEST_PROTOCOL} of the protocol between processes of one directory. This process ` +
        `has version ${protocol} (insidecar ${String(release)}). ${stop}`,
    );
  if (schema !== SCHEMA_VERSION)
    throw new StateError(
      Number(schema) < SCHEMA_VERSION ? 'newer-format' : 'in-use',
      `${own}, which stores schema version ${SCHEMA_VERSION}. This process stores schema version ${String(schema)} ` +
        `(insidecar ${String(release)}). ${stop}`,
    );
  if (!isProof(proof, key, 'guest')) return undefined;
  return { protocol, schema, release: String(release), listens, proof };
}

export function welcome(serverId: string, key: string, rank: number): Buffer {
  return frameOf({ serverId, proof: proofOf(key, 'holder'), rank });
}

export function refusal({ kind, message }: Pick<StateError, 'kind' | 'message'>): Buffer {
  return frameOf({ refused: { kind, message } });
}

function frameOf(answer: Welcome): Buffer {
  return Buffer.from(JSON.stringify(answer));
}

/**
 * Reads the first frame of a holder: its ID, and how many connections of guests precede this one.
 *
 * @throws StateError if it refuses
 * @throws Error if it is not the holder whose record was read
 */
export function readWelcome(frame: Buffer, key: string): { readonly serverId: string; readonly rank: number } {
  const answer = objectIn(frame) as Partial<Record<'serverId' | 'proof' | 'refused' | 'rank', unknown>> | undefined;
  const refused = Object(answer?.refused) as { kind?: unknown; message?: unknown };
  if (typeof refused.message === 'string') throw new StateError(kindOf(refused.kind), refused.message);
  if (typeof answer?.serverId !== 'string' || !isProof(answer.proof, key, 'holder'))
    throw new Error('what answers on its socket is not the process that its record names');
  return { serverId: answer.serverId, rank: Number(answer.rank ?? 0) };
}

const KINDS: readonly string[] = ['invalid', 'in-use', 'newer-format'] satisfies StateErrorKind[];

function kindOf(kind: unknown): StateErrorKind {
  // The cast is safe: it is one of the list.
  return KINDS.includes(String(kind)) ? (kind as StateErrorKind) : 'failed';
}

function objectIn(frame: Buffer): object | undefined {
  try {
    const value: unknown = JSON.parse(frame.toString());
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
