import type { CodeCall, CodeCalls } from './code-calls.ts';

/** A group of sidecars in one process whose functions work on the same items: those with the same name. */
export interface Workplace {
  readonly name: string;
  /** Represents the sidecar. */
  readonly host: object;
}

/**
 * Per process, by name: a function may still be running after its store was closed, and the next sidecar that opens the
 * same directory shares nothing else with it.
 */
const byName = new Map<string, Set<CodeCalls>>();

/** Registers the calls of a sidecar. */
export function enterWorkplace({ name }: Workplace, calls: CodeCalls): void {
  const there = byName.get(name);
  if (there === undefined) byName.set(name, new Set([calls]));
  else there.add(calls);
}

/** Unregisters the calls of a sidecar. */
export function leaveWorkplace({ name }: Workplace, calls: CodeCalls): void {
  const there = byName.get(name);
  there?.delete(calls);
  if (there?.size === 0) byName.delete(name);
}

/** The call of another sidecar in this process that is working on `subject`. */
export function atWorkElsewhere({ name, host }: Workplace, subject: string): CodeCall | undefined {
  const there = byName.get(name);
  if (there === undefined) return undefined;
  for (const calls of there) {
    const call = calls.workplace?.host === host ? undefined : calls.find(subject);
    if (call !== undefined) return call;
  }
  return undefined;
}
