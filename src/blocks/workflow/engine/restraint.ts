import type { IntakeMessage } from './turn-intake.ts';

/** Keeps an instance in memory from beginning anything. */
export class Restraint {
  /** Set while there may be stored messages that it has not been given: it takes no turn before. */
  isHeld = false;
  /** How many of its messages end, cancel or pause it and have not had their turn. */
  #stops = 0;
  /** Called once nothing of the instance is in flight, when another host is to take over. */
  #onResigned: ((hasLeft: boolean) => void) | undefined;

  get mayBegin(): boolean {
    return !this.isHeld && this.#onResigned === undefined && this.#stops === 0;
  }

  /** Whether it is to leave for another host. */
  get isResigning(): boolean {
    return this.#onResigned !== undefined;
  }

  resign(onResigned: (hasLeft: boolean) => void): void {
    this.#onResigned = onResigned;
  }

  /** It has left this host. */
  left(): void {
    this.#onResigned?.(true);
  }

  /** It stays after all. */
  stays(): void {
    this.#onResigned?.(false);
    this.#onResigned = undefined;
  }

  /** A message waits for its turn. */
  queued(message: IntakeMessage): void {
    if (isStop(message)) this.#stops++;
  }

  /** Messages have had their turn. */
  taken(messages: readonly IntakeMessage[]): void {
    if (this.#stops > 0) this.#stops -= messages.filter(isStop).length;
  }
}

function isStop({ event }: IntakeMessage): boolean {
  return event?.type === 'terminated' || event?.type === 'cancelRequested' || event?.type === 'suspended';
}
