import type { MessageCommits } from '../../../components/message-commits.ts';
import type { Message } from '../../../components/pubsub.ts';
import type { Observation } from '../../../probe.ts';
import type { Batch } from '../../../state/store.ts';

/** The dependencies of {@link PublishInCommit}. */
export interface PublishInCommitDeps {
  readonly commits: MessageCommits;
  readonly messages: readonly Message[];
  readonly observation: Observation | undefined;
  readonly onPublished: () => void;
}

/** Messages that are published in a commit of another block. */
export class PublishInCommit {
  readonly #deps: PublishInCommitDeps;
  #isPublished = false;

  constructor(deps: PublishInCommitDeps) {
    this.#deps = deps;
  }

  /** Whether the last commit was made, with the messages. */
  get isPublished(): boolean {
    return this.#isPublished;
  }

  /**
   * Commits a batch with the messages. Resolves with the version, or with `undefined` if a message is not accepted:
   * nothing was written then. Rejects as a commit does; it may then be called again.
   */
  async commit(batch: Batch): Promise<number | undefined> {
    const { commits, messages, onPublished } = this.#deps;
    this.#isPublished = false;
    const version = await commits.commitWith(messages, batch);
    this.#isPublished = version !== undefined;
    if (this.#isPublished) onPublished();
    return version;
  }

  /** There are no more commits. */
  end(): void {
    this.#deps.observation?.end(
      this.#isPublished ? {} : { failure: { reason: 'the commit was not made with the messages' } },
    );
  }
}
