/** As they were when this file was loaded: tests replace them. */
const { setImmediate, performance } = globalThis;

/** How long rules are evaluated before the event loop does its other work. */
const TURN_MS = 10;
/** Shorter evaluations are not counted: hundreds of them are no turn. */
const COUNTED_MS = 0.05;

let spentMs = 0;
let next: Promise<void> | undefined;

/** Evaluates rules, and counts the time that this takes. */
export function evaluateInTurn<T>(evaluate: () => T): T {
  const startedAt = performance.now();
  try {
    return evaluate();
  } finally {
    const tookMs = performance.now() - startedAt;
    if (tookMs >= COUNTED_MS) spend(tookMs);
  }
}

function spend(ms: number): void {
  spentMs += ms;
  next ??= new Promise((resolve) => {
    setImmediate(() => {
      spentMs = 0;
      next = undefined;
      resolve();
    });
  });
}

/**
 * A promise to wait for before more rules are evaluated; then ask again, since others may have waited for it too.
 * `undefined`: they may be evaluated now. Each evaluation is limited, but not the number of messages that arrive
 * together.
 */
export function ruleTurn(): Promise<void> | undefined {
  return spentMs < TURN_MS ? undefined : next;
}
