import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { sharedState } from '../../src/cluster/shared-state.ts';
import { embedded } from '../../src/components/embedded/index.ts';
import { type DeadLetterOrigin, durablePubSub, type Message, Sidecar } from '../../src/index.ts';
import type { VirtualClock } from '../../src/testing/index.ts';
import { application, SUBSCRIPTIONS, type SubscriptionOfFixture, subscribe } from '../fixtures/state/application.mjs';
import { patientClock } from '../support/clock.ts';
import { RecordingLogger } from '../support/logger.ts';

const PLACE = fileURLToPath(new URL('../fixtures/state/', import.meta.url));

/** What the application does for a message, a job or an activity. */
export interface Begun {
  readonly kind: 'message' | 'job' | 'activity';
  readonly name: string;
  readonly attempt: number;
  readonly topic?: string;
  readonly group?: string;
  readonly data?: unknown;
  readonly dueAt?: number;
  readonly message?: Message;
  readonly deadLetter?: DeadLetterOrigin;
  /** When it was begun. */
  readonly at: number;
}

/** What is in a fixture. */
export interface Manifest {
  readonly release: string;
  readonly ending: 'stopped' | 'killed';
  readonly writtenAt: number;
  readonly messages: readonly {
    readonly topic: string;
    readonly group: string;
    readonly id?: string;
    readonly attempts: number;
    /** When the retries of its groups are due. */
    readonly dueAt?: readonly number[];
  }[];
  readonly jobs: readonly { readonly name: string; readonly nextRunAt: number }[];
  readonly workflows: readonly {
    readonly instanceId: string;
    readonly status: string;
    readonly customStatus?: string;
  }[];
  /** Activities with a result: `<instance ID>/<number>`. */
  readonly activities: readonly string[];
}

/** Every fixture: a release and how its process ended. */
export const FIXTURES: readonly string[] = readdirSync(PLACE, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .flatMap(({ name }) => readdirSync(join(PLACE, name)).map((ending) => `${name}/${ending}`));

const FILES = ['state.db', 'state.db-wal'];

function contentOf(file: string, unpack = (packed: Buffer): Buffer => packed): Buffer | undefined {
  return existsSync(file) ? unpack(readFileSync(file)) : undefined;
}

/** A copy of a fixture's state directory. */
export class OldState implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'insidecar-old-'));
  readonly manifest: Manifest;

  constructor(fixture: string) {
    const from = join(PLACE, fixture);
    this.manifest = JSON.parse(readFileSync(join(from, 'manifest.json'), 'utf8')) as Manifest;
    mkdirSync(this.path, { recursive: true });
    this.putBack(FILES.map((file) => join(from, `${file}.gz`)).map((file) => contentOf(file, gunzipSync)));
  }

  /** The database and its log, if there is one. */
  files(): readonly (Buffer | undefined)[] {
    return FILES.map((file) => contentOf(join(this.path, file)));
  }

  /** Replaces what `files()` answers. */
  putBack(contents: readonly (Buffer | undefined)[]): void {
    for (const [index, file] of FILES.entries()) {
      const content = contents[index];
      if (content !== undefined) writeFileSync(join(this.path, file), content);
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** The applications of a fixture, run by the present code. */
export class OldWorld implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly logger = new RecordingLogger();
  readonly begun: Begun[] = [];
  readonly shop: Sidecar;
  readonly billing: Sidecar;

  /** `downMs` is how long no process ran, in milliseconds. */
  constructor({ path, manifest }: OldState, { downMs = 0, hasMessages = true } = {}) {
    this.clock = patientClock({ startAt: manifest.writtenAt + downMs });
    const state = sharedState(embedded({ path }));
    const { clock, logger } = this;
    const make = (appId: string): Sidecar =>
      new Sidecar({ appId, state, clock, logger, components: hasMessages ? [durablePubSub('pubsub')] : [] });
    [this.shop, this.billing] = [make('shop'), make('billing')];
  }

  get #deps() {
    const log = (what: Omit<Begun, 'at'>): void => void this.begun.push({ ...what, at: this.clock.now() });
    return { isLater: true, log };
  }

  /** Starts the shop, which runs its jobs and workflows. */
  async start(): Promise<this> {
    application(this.shop, this.#deps);
    await this.shop.start();
    await this.clock.settled();
    return this;
  }

  /** Subscribes to a topic as the shop does. */
  async subscribe(isWanted: (subscription: SubscriptionOfFixture) => boolean = () => true): Promise<void> {
    for (const one of SUBSCRIPTIONS.filter(isWanted)) await subscribe(this.shop, one, this.#deps);
    await this.clock.settled();
  }

  /** What was begun of a kind. */
  all(kind: Begun['kind']): readonly Begun[] {
    return this.begun.filter((one) => one.kind === kind);
  }

  async pass(by: string): Promise<void> {
    await this.clock.advance(by);
    await this.clock.settled();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.shop.stop(), this.billing.stop()]);
  }
}
