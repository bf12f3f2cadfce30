/** Ends servers of a benchmark that is told to end: nothing else would, `await using` included. */
export function disposeOnSignal(...servers: readonly AsyncDisposable[]): void {
  const dispose = async (): Promise<void> => {
    await Promise.allSettled(servers.map((server) => server[Symbol.asyncDispose]()));
    process.exit(1);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void dispose());
}
