import type { Held, Line, LineOptions, LineReceiver, Received } from '../../../src/components/broker/line.ts';
import type { Message } from '../../../src/components/pubsub.ts';

/** The delivery of a message, as the broker numbers it. */
export interface Tag {
  readonly id: string;
  readonly connection: number;
}

/** How the broker describes messages. */
interface SendOptions {
  readonly keyed?: boolean;
  readonly attempts?: number;
  readonly isFirst?: boolean;
}

/** A line that records what a group asks of it. */
export class RecordedLine implements Line<Tag> {
  readonly calls: string[] = [];
  readonly options: LineOptions;
  readonly receiver: LineReceiver<Tag>;
  connection = 1;
  /** How the next acknowledgements end. */
  failure: Error | undefined;
  /** Whether the broker delays messages itself. */
  delays = false;

  constructor(options: LineOptions, receiver: LineReceiver<Tag>) {
    this.options = options;
    this.receiver = receiver;
  }

  /** Delivers messages with these IDs. */
  send(ids: readonly string[], options: SendOptions = {}): void {
    this.receiver.deliver(ids.map((id) => this.#received(id, options)));
  }

  #received(id: string, { keyed = false, attempts = 0, isFirst }: SendOptions): Received<Tag> {
    const message: Message = {
      id,
      topic: 't',
      data: Buffer.from(id),
      contentType: 'text/plain',
      raw: true,
      metadata: {},
    };
    const handle = { id, connection: this.connection };
    return { message, attempts, handle, ...(keyed ? { key: id } : {}), ...(isFirst === undefined ? {} : { isFirst }) };
  }

  /** The connection breaks and is made again. */
  reconnect(): void {
    this.connection++;
    this.receiver.detach();
  }

  roomChanged(): void {
    this.calls.push(`room ${this.receiver.room}`);
  }

  async ack({ id, connection }: Tag): Promise<void> {
    this.calls.push(`ack ${id} of ${connection}`);
    if (this.failure !== undefined) throw this.failure;
  }

  delay({ message, attempts }: Held<Tag>, delayMs: number): Promise<void> | undefined {
    if (!this.delays) return undefined;
    this.calls.push(`delay ${message.id} after ${attempts} by ${delayMs}`);
    return Promise.resolve();
  }

  async hold({ message, attempts }: Held<Tag>, delayMs: number): Promise<void> {
    this.calls.push(`hold ${message.id} after ${attempts} for ${delayMs}`);
  }

  async stop(): Promise<void> {
    this.calls.push('stop');
  }

  async release(entries: readonly Held<Tag>[]): Promise<void> {
    this.calls.push(`release ${entries.map(({ message, attempts }) => `${message.id}:${attempts}`).join()}`);
  }

  async close(): Promise<void> {
    this.calls.push('close');
  }

  /** The calls since the last look. */
  taken(): string[] {
    return this.calls.splice(0);
  }
}
