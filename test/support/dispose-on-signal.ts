const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const open = new Set<AsyncDisposable>();

/**
 * Disposes of servers and processes when this process is told to end: nothing else would, `await using` included.
 * Dispose of what this returns once they have ended by themselves.
 */
export function disposeOnSignal(...disposables: readonly AsyncDisposable[]): Disposable {
  if (open.size === 0) for (const signal of SIGNALS) process.on(signal, disposeOfAll);
  for (const disposable of disposables) open.add(disposable);
  return {
    [Symbol.dispose]: () => {
      for (const disposable of disposables) open.delete(disposable);
      if (open.size === 0) for (const signal of SIGNALS) process.removeListener(signal, disposeOfAll);
    },
  };
}

function disposeOfAll(): void {
  void Promise.allSettled(Array.from(open, (disposable) => disposable[Symbol.asyncDispose]())).finally(() =>
    process.exit(1),
  );
}
