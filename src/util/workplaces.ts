import type { CodeCall, CodeCalls } from './code-calls.ts';

/** Where functions in code are at work: in one process, the calls in a place of one name are about the same things. */
export interface Workplace {
  readonly name: string;
  /** Represents the sidecar. */
  readonly host: object;
}

/**
 * Kept for the process, by name: a function may be at work longer than its store is open, and the next sidecar that opens
 * the same directory has nothing else in common with it.
 */
const byName = new Map<string, Set<CodeCalls>>();

/** Calls may be at work in a place from now on. */
export function enterWorkplace({ name }: Workplace, calls: CodeCalls): void {
  const there = byName.get(name);
  if (there === undefined) byName.set(name, new Set([calls]));
  else there.add(calls);
}

/** They are not any more. */
export function leaveWorkplace({ name }: Workplace, calls: CodeCalls): void {
  const there = byName.get(name);
  there?.delete(calls);
  if (there?.size === 0) byName.delete(name);
}

/** The function of another sidecar of this process that has something at work. */
export function atWorkElsewhere({ name, host }: Workplace, subject: string): CodeCall | undefined {
  const there = byName.get(name);
  if (there === undefined) return undefined;
  for (const calls of there) {
    const call = calls.workplace?.host === host ? undefined : calls.find(subject);
    if (call !== undefined) return call;
  }
  return undefined;
}
