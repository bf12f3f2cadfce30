import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How many calls of a connection may wait for the responses before theirs. Clients that pipeline have a few. */
const MAX_BEGUN = 100;

/**
 * The calls of a connection whose client does not wait for responses. Responses go out in order, so calls that are far
 * behind begin later: a client may send thousands, and each could open a connection of its own to the application.
 */
class Pipeline {
  /** Responses that wait for those before them. */
  readonly #waiting = new Set<ServerResponse>();
  /** Calls that have not begun, in order. */
  readonly #held = new Set<() => void>();

  constructor(socket: Socket) {
    // One listener for each connection. Node 20 closes only the response whose turn it is.
    socket.once('close', () => {
      for (const res of this.#waiting) close(res);
      for (const begin of this.#held) begin();
      this.#held.clear();
    });
  }

  /** Adds a response that has to wait. Returns a promise if its call has to wait too: until there is room. */
  add(res: ServerResponse): Promise<void> | undefined {
    this.#waiting.add(res);
    res.once('socket', () => this.#remove(res));
    if (this.#waiting.size <= MAX_BEGUN) return undefined;
    return new Promise((begin) => {
      this.#held.add(begin);
    });
  }

  #remove(res: ServerResponse): void {
    this.#waiting.delete(res);
    const [begin] = this.#held;
    if (begin === undefined) return;
    this.#held.delete(begin);
    begin();
  }
}

const pipelines = new WeakMap<Socket, Pipeline>();

/**
 * Closes a response whose turn has not come with its connection. Returns a promise if its call must wait: it resolves
 * when the call may begin, or when the connection has closed.
 */
export function joinPipeline(socket: Socket, res: ServerResponse): Promise<void> | undefined {
  if (socket.destroyed) {
    close(res);
    return undefined;
  }
  let pipeline = pipelines.get(socket);
  if (pipeline === undefined) {
    pipeline = new Pipeline(socket);
    pipelines.set(socket, pipeline);
  }
  return pipeline.add(res);
}

function close(res: ServerResponse): void {
  res.destroy();
  process.nextTick(() => {
    if (!res.closed) res.emit('close');
  });
}
