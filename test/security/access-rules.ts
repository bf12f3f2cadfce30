import { type AccessControl, makeAccessControl } from '../../src/security/access-control.ts';
import type { AccessAction, AccessControlOptions, AccessOperation } from '../../src/security/access-options.ts';
import { daprDecision } from '../support/dapr-access-model.ts';

export const CALLER = { appId: 'caller', namespace: 'default', trustDomain: 'public' };

export type Rule = readonly [name: string, action: AccessAction, ...verbs: string[]];

export function operations(rules: readonly Rule[]): AccessOperation[] {
  return rules.map(([name, action, ...verbs]) => ({ name, action, httpVerb: verbs.length === 0 ? ['*'] : verbs }));
}

/** One policy for one caller; the default of all is the other way round, so that it shows when it is used. */
export function optionsOf(defaultAction: AccessAction, rules: readonly Rule[]): AccessControlOptions {
  return {
    defaultAction: defaultAction === 'allow' ? 'deny' : 'allow',
    policies: [{ ...CALLER, defaultAction, operations: operations(rules) }],
  };
}

export const policy = (defaultAction: AccessAction, rules: readonly Rule[]): AccessControl =>
  makeAccessControl(optionsOf(defaultAction, rules));

export const dapr = (defaultAction: AccessAction, rules: readonly Rule[], path: string, verb = 'GET'): AccessAction =>
  daprDecision(optionsOf(defaultAction, rules), { caller: CALLER, verb, path });

export const check = (control: AccessControl, path: string, verb = 'GET'): AccessAction =>
  control.check({ caller: CALLER, verb, path });
