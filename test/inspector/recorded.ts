import { memoryPubSub, Sidecar, type SidecarOptions } from '../../src/index.ts';
import type { MessageRecord } from '../../src/inspector/api/live.ts';
import { readFilter } from '../../src/inspector/recorder/query.ts';
import { Recorder, type RecorderLimits, type RecorderOptions } from '../../src/inspector/recorder/recorder.ts';
import { RecordingLogger } from '../support/logger.ts';

/** A sidecar that is recorded. */
export class Recorded implements AsyncDisposable {
  readonly sidecar: Sidecar;
  readonly recorder: Recorder;

  constructor(
    options: SidecarOptions = {},
    recorded: Partial<RecorderOptions> = {},
    limits: Partial<RecorderLimits> = {},
  ) {
    const logger = new RecordingLogger();
    const components = [memoryPubSub('pubsub')];
    this.sidecar = new Sidecar({ appId: 'shop', logger, stopTimeout: 500, components, ...options });
    this.recorder = new Recorder(this.sidecar, { record: 'always', payloads: 'full', ...recorded }, limits);
  }

  static async start(...parameters: ConstructorParameters<typeof Recorded>): Promise<Recorded> {
    const recorded = new Recorded(...parameters);
    await recorded.sidecar.start();
    return recorded;
  }

  /** Records of messages, the earliest first. */
  async messages(query = '', limit = 1_000): Promise<readonly MessageRecord[]> {
    const { records } = await this.recorder.page(readFilter(new URLSearchParams(query), 'message'), limit);
    return (records as readonly MessageRecord[]).toReversed();
  }

  /** Waits until the records of messages are as they should be. */
  async until(
    query: string,
    isMeant: (records: readonly MessageRecord[]) => boolean,
  ): Promise<readonly MessageRecord[]> {
    let records: readonly MessageRecord[] = [];
    for (let turn = 0; turn < 1_000; turn++) {
      records = await this.messages(query);
      if (isMeant(records)) return records;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`the records are ${JSON.stringify(records)}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.recorder.close();
    await this.sidecar.stop();
  }
}
