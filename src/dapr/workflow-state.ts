import type { WorkflowFailure } from '../blocks/workflow/model/failure.ts';
import type { InstanceView, MissingCode } from '../blocks/workflow/model/instance.ts';
import { WorkflowRuntimeStatus } from './workflow-runtime-status.ts';

/** Why a workflow failed. @public */
export class WorkflowFailureDetails {
  readonly #failure: WorkflowFailure;

  /** Made by the client. @internal */
  constructor(failure: WorkflowFailure) {
    this.#failure = failure;
  }

  /** The name of the class of what was thrown. */
  getErrorType(): string {
    return this.#failure.errorType;
  }

  /** What it said. */
  getErrorMessage(): string {
    return this.#failure.message;
  }

  /** Where it was thrown, when that is known. */
  getStackTrace(): string | undefined {
    return this.#failure.stackTrace;
  }
}

/** An instance, seen from outside. @public */
export class WorkflowState {
  readonly #view: InstanceView;
  readonly #hasPayloads: boolean;

  /** Made by the client. @internal */
  constructor(view: InstanceView, hasPayloads: boolean) {
    this.#view = view;
    this.#hasPayloads = hasPayloads;
  }

  /** The name of its workflow. */
  get name(): string {
    return this.#view.name;
  }

  /** Its ID. */
  get instanceId(): string {
    return this.#view.instanceId;
  }

  /** Where it stands. */
  get runtimeStatus(): WorkflowRuntimeStatus {
    return WorkflowRuntimeStatus[this.#view.status];
  }

  /** When it was started. */
  get createdAt(): Date {
    return new Date(this.#view.createdAt);
  }

  /** When it had its last turn. */
  get lastUpdatedAt(): Date {
    return new Date(this.#view.lastUpdatedAt);
  }

  /** Its input as JSON; `undefined` when there is none, or payloads were not asked for. */
  get serializedInput(): string | undefined {
    return this.#hasPayloads ? this.#view.input : undefined;
  }

  /** Its output as JSON; `undefined` when there is none, or payloads were not asked for. */
  get serializedOutput(): string | undefined {
    return this.#hasPayloads ? this.#view.output : undefined;
  }

  /** Why it failed; only of failed instances, when payloads were asked for. */
  get workflowFailureDetails(): WorkflowFailureDetails | undefined {
    const { failure } = this.#view;
    return this.#hasPayloads && failure !== undefined ? new WorkflowFailureDetails(failure) : undefined;
  }

  /** What the workflow told about itself, when payloads were asked for. */
  get customStatus(): string | undefined {
    return this.#hasPayloads ? this.#view.customStatus : undefined;
  }

  /** Code that it waits for, as nobody has registered it. Dapr's SDK does not have it. */
  get missingCode(): readonly MissingCode[] | undefined {
    return this.#view.missingCode;
  }
}
