import type { WorkflowFailure } from '../blocks/workflow/model/failure.ts';
import type { InstanceView, WorkflowMissingCode } from '../blocks/workflow/model/instance.ts';
import { WorkflowRuntimeStatus } from './workflow-runtime-status.ts';

/** Why a workflow failed. @public */
export class WorkflowFailureDetails {
  readonly #failure: WorkflowFailure;

  /** Made by the client. @internal */
  constructor(failure: WorkflowFailure) {
    this.#failure = failure;
  }

  /** The class name of the thrown error. */
  getErrorType(): string {
    return this.#failure.errorType;
  }

  /** The message of the error. */
  getErrorMessage(): string {
    return this.#failure.message;
  }

  /** The stack trace, if known. */
  getStackTrace(): string | undefined {
    return this.#failure.stackTrace;
  }
}

/** The state of an instance. @public */
export class WorkflowState {
  readonly #view: InstanceView;
  readonly #hasPayloads: boolean;

  /** Made by the client. @internal */
  constructor(view: InstanceView, hasPayloads: boolean) {
    this.#view = view;
    this.#hasPayloads = hasPayloads;
  }

  /** The name of the workflow. */
  get name(): string {
    return this.#view.name;
  }

  /** The ID of the instance. */
  get instanceId(): string {
    return this.#view.instanceId;
  }

  /** The status of the instance. */
  get runtimeStatus(): WorkflowRuntimeStatus {
    return WorkflowRuntimeStatus[this.#view.status];
  }

  /** The start time. */
  get createdAt(): Date {
    return new Date(this.#view.createdAt);
  }

  /** The time of the last turn. */
  get lastUpdatedAt(): Date {
    return new Date(this.#view.lastUpdatedAt);
  }

  /** The input as JSON; `undefined` without one, or if payloads were not requested. */
  get serializedInput(): string | undefined {
    return this.#hasPayloads ? this.#view.input : undefined;
  }

  /** The output as JSON; `undefined` without one, or if payloads were not requested. */
  get serializedOutput(): string | undefined {
    return this.#hasPayloads ? this.#view.output : undefined;
  }

  /** The failure; only of failed instances, and if payloads were requested. */
  get workflowFailureDetails(): WorkflowFailureDetails | undefined {
    const { failure } = this.#view;
    return this.#hasPayloads && failure !== undefined ? new WorkflowFailureDetails(failure) : undefined;
  }

  /** The custom status that the workflow has set, if payloads were requested. */
  get customStatus(): string | undefined {
    return this.#hasPayloads ? this.#view.customStatus : undefined;
  }

  /** The unregistered code that the instance waits for. Not in Dapr's SDK. */
  get missingCode(): readonly WorkflowMissingCode[] | undefined {
    return this.#view.missingCode;
  }
}
