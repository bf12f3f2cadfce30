import type { Workflows } from '../blocks/workflow/workflows.ts';
import { SidecarError } from '../errors.ts';

/** What {@link WorkflowRuntime} and {@link DaprWorkflowClient} are made with. @public */
export interface DaprWorkflowOptions {
  /** The sidecar of this process, which keeps and runs the workflows. */
  readonly sidecar: { readonly workflows: Workflows };
  /** Taken so that programs for Dapr's SDK compile; there is no connection to make. */
  readonly daprHost?: string;
  /** As `daprHost`. */
  readonly daprPort?: string;
  /** As `daprHost`. */
  readonly daprApiToken?: string;
  /** As `daprHost`. */
  readonly logger?: unknown;
  /** As `daprHost`. */
  readonly grpcOptions?: unknown;
}

/** The engine of the sidecar in the options. */
export function workflowsOf(maker: string, options: Partial<DaprWorkflowOptions> | undefined): Workflows {
  const workflows = options?.sidecar?.workflows;
  if (workflows !== undefined) return workflows;
  throw new SidecarError(
    'ERR_CONFIGURATION',
    `${maker} has no sidecar: expected new ${maker}({ sidecar }) with the Sidecar of this process`,
  );
}
