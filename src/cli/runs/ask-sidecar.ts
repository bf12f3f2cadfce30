import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { messageOf } from '../../errors.ts';
import type { FlagValues } from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { CommandFailure, misuse } from '../failure.ts';
import type { RunApp } from './run-files.ts';

/** What a sidecar answers. */
export interface SidecarAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/** A request to the HTTP API of a sidecar. */
export interface SidecarRequest {
  readonly method: string;
  readonly path: string;
  readonly contentType?: string | undefined;
  readonly body?: Buffer | undefined;
}

/**
 * Asks the sidecar of an application, with the API token of the environment. Nothing limits the time of the answer.
 *
 * @throws Failure if it cannot be reached, or refuses the token
 */
export async function askSidecar(
  { appId, url }: RunApp,
  { method, path, contentType, body }: SidecarRequest,
  { DAPR_API_TOKEN, SIDECAR_API_TOKEN }: NodeJS.ProcessEnv,
): Promise<SidecarAnswer> {
  const token = SIDECAR_API_TOKEN || DAPR_API_TOKEN;
  const headers = {
    // The names of both wires.
    ...(token && { 'sidecar-api-token': token, 'dapr-api-token': token }),
    ...(contentType && { 'content-type': contentType }),
    ...(body && { 'content-length': body.length }),
  };
  let answer: SidecarAnswer;
  try {
    answer = await new Promise((done, fail) => {
      const asked = request(url + path, { method, headers }, (response) => {
        const { statusCode: status = 0 } = response;
        buffer(response).then((received) => done({ status, body: received }), fail);
      });
      asked.once('error', fail);
      asked.end(body);
    });
  } catch (error) {
    throw new CommandFailure(
      `the sidecar of ${appId} at ${url} cannot be reached: ${messageOf(error)}`,
      undefined,
      error,
    );
  }
  if (answer.status !== 401) return answer;
  const advice = token ? 'the token in the environment is not its own' : 'set DAPR_API_TOKEN to its token';
  throw new CommandFailure(`the sidecar of ${appId} at ${url} answered 401: ${advice}`);
}

/** The body that `--data` or `--data-file` gives. @throws Failure for both, or a file that cannot be read. */
export async function dataOf(
  flags: FlagValues,
  { directory }: CommandContext,
  about: string,
): Promise<Buffer | undefined> {
  const [data, file] = [flags.text('data'), flags.text('data-file')];
  if (data !== undefined && file !== undefined) throw misuse('--data does not go with --data-file', about);
  if (data !== undefined) return Buffer.from(data);
  if (file === undefined) return undefined;
  const path = resolve(directory, file);
  return readFile(path).catch((error: unknown) => {
    throw new CommandFailure(
      `--data-file: ${JSON.stringify(path)} cannot be read: ${messageOf(error)}`,
      undefined,
      error,
    );
  });
}

/** The content type of a body, and its value if it is JSON. */
export function contentOf(body: Buffer): { readonly type: string; readonly value?: unknown } {
  if (!isUtf8(body)) return { type: 'application/octet-stream' };
  try {
    return { type: 'application/json', value: JSON.parse(body.toString()) };
  } catch {
    return { type: 'text/plain' };
  }
}

/** A path of an application in a URL; what it has escaped stays as it is. */
export function escapedPath(path: string): string {
  return path.replace(/[^!-~]+|#/g, encodeURIComponent);
}
