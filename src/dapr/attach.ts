import type { Workflows } from '../blocks/workflow/workflows.ts';
import { SidecarError } from '../errors.ts';

/** Options of {@link WorkflowRuntime} and {@link DaprWorkflowClient}. @public */
export interface DaprWorkflowOptions {
  /** The sidecar in this process that stores and runs the workflows. */
  readonly sidecar: { readonly workflows: Workflows };
  /** Ignored: accepted so that programs for Dapr's SDK compile. There is no connection. */
  readonly daprHost?: string | undefined;
  /** Ignored, like `daprHost`. */
  readonly daprPort?: string | undefined;
  /** Ignored, like `daprHost`. */
  readonly daprApiToken?: string | undefined;
  /** Ignored, like `daprHost`. */
  readonly logger?: unknown;
  /** Ignored, like `daprHost`. */
  readonly grpcOptions?: unknown;
}

/** The workflow engine of the sidecar in the options. */
export function workflowsOf(maker: string, options: Partial<DaprWorkflowOptions> | undefined): Workflows {
  const workflows = options?.sidecar?.workflows;
  if (workflows !== undefined) return workflows;
  throw new SidecarError(
    'ERR_CONFIGURATION',
    `${maker} has no sidecar: expected new ${maker}({ sidecar }) with the Sidecar of this process`,
  );
}
