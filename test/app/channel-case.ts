import type { AppChannel, AppChannelOptions } from '../../src/app/channel.ts';
import type { Handler, SidecarResponse } from '../../src/http/message.ts';
import { bytesOf, handlerOf } from '../../src/kit/adapter-case.ts';
import type { OpenChannel } from './open.ts';

export type Open = (app: Handler, options?: Partial<AppChannelOptions>) => Promise<OpenChannel>;

export interface ChannelCase {
  readonly name: string;
  run(open: Open): Promise<void>;
}

export const MIB = 1024 * 1024;
export const EVERY_BYTE = Uint8Array.from({ length: 256 }, (_, index) => index);
export const CHUNK = Buffer.alloc(64 * 1024, 'x');
export const STREAM_BYTES = 64 * MIB;
export const UNDERWAY_BYTES = 24 * MIB;
export const app = (answer: Parameters<typeof handlerOf>[0]): Handler => handlerOf(answer).handle;

export function onApp(name: string, answer: () => Handler, check: (channel: AppChannel) => Promise<void>): ChannelCase {
  return {
    name,
    async run(open) {
      await using opened = await open(answer());
      await check(opened.channel);
    },
  };
}

export async function textOf({ body }: SidecarResponse): Promise<string> {
  return (await bytesOf(body)).toString();
}

/** In a later turn of the event loop, as everything that comes from the outside. */
export function soon<T>(value: T): Promise<T> {
  return new Promise((resolve) => setImmediate(() => resolve(value)));
}

export async function* failingAfter(chunk: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(chunk);
  throw new Error('the body broke off');
}
