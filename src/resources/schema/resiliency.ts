import { RESILIENCY_SCHEMA as SPEC_SCHEMA } from '../../resiliency/options.ts';
import { kindSchema, scopes } from './envelope.ts';

/** `kind: Resiliency`. */
export const RESILIENCY_SCHEMA: object = kindSchema({
  kind: 'Resiliency',
  versions: ['v1alpha1'],
  description: 'Time-outs, retries and circuit breakers, and their targets.',
  spec: SPEC_SCHEMA,
  isSpecOptional: true,
  beside: { scopes },
});
