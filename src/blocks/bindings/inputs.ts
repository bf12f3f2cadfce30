import { type BindingDefinition, isUsedFor } from '../../components/binding.ts';
import { SidecarError } from '../../errors.ts';
import { invalidArgument } from '../../util/option-fields.ts';
import { shown } from '../../util/shown.ts';
import { didYouMean } from '../../util/suggest.ts';
import type { BindingsServiceDeps, InvokeForAnswer, NamedBinding } from './bindings-deps.ts';
import { type HandledInput, InputDelivery, type LastEvents } from './input-delivery.ts';
import { InputReader } from './input-reader.ts';
import { RouteQuestion } from './route-question.ts';

/** How an input binding is used. */
export interface InputState extends LastEvents {
  /** Whether somebody gets its events. */
  readonly isRead: boolean;
}

/** The input bindings of a sidecar: which of them are read, and for whom. */
export class Inputs {
  readonly #deps: BindingsServiceDeps;
  readonly #delivery: InputDelivery;
  /** In code, by binding; those of before the start wait here for the bindings to open. */
  readonly #handlers = new Map<string, HandledInput>();
  readonly #readers = new Map<string, InputReader>();
  readonly #questions: RouteQuestion[] = [];
  #watch: Disposable | undefined;

  constructor(deps: BindingsServiceDeps, invoke: InvokeForAnswer) {
    this.#deps = deps;
    this.#delivery = new InputDelivery(deps, invoke);
  }

  /** @throws SidecarError `ERR_CONFIGURATION` for a binding that there is not, or that has a handler */
  on(name: string, handled: HandledInput): Disposable {
    this.#checkInput(name);
    if (this.#handlers.has(name))
      throw new SidecarError('ERR_CONFIGURATION', `binding ${JSON.stringify(name)} has a handler already`);
    this.#handlers.set(name, handled);
    this.#readers.get(name)?.update();
    return {
      [Symbol.dispose]: () => {
        if (this.#handlers.get(name) !== handled) return;
        this.#handlers.delete(name);
        this.#readers.get(name)?.update();
      },
    };
  }

  #checkInput(name: string): void {
    const inputs = this.#deps.definitions.filter((definition) => isUsedFor(definition, 'input'));
    if (inputs.some((definition) => definition.name === name)) return;
    const known = inputs.map((definition) => definition.name);
    const expected =
      known.length === 0 ? 'there is none' : `expected ${known.join(', ')}${didYouMean(String(name), known)}`;
    throw invalidArgument(`${shown(name)} is not an input binding: ${expected}`, 'name');
  }

  open(opened: readonly NamedBinding[]): void {
    for (const named of opened) if (isUsedFor(named.definition, 'input')) this.#add(named);
    this.#watch = this.#deps.monitor?.onChange((state) => (state === 'greeting' ? this.#ask() : undefined));
  }

  #add({ definition, store }: NamedBinding): void {
    const { name, options } = definition;
    const { app, resiliency } = this.#deps;
    const policy = resiliency.forComponent(name, 'inbound', 'Binding');
    const to = { name, route: routeOf(definition), policy };
    const isWanted = options.direction?.includes('input') === true;
    const reader = new InputReader(this.#deps, {
      name,
      // Without an application, only code can handle events.
      isSubscribed: isWanted && app !== undefined,
      hasHandler: () => this.#handlers.has(name),
      read: async (signal) =>
        store.read?.((event) => this.#delivery.deliver({ ...to, handled: this.#handlers.get(name) }, event), signal),
    });
    this.#readers.set(name, reader);
    if (app === undefined || isWanted || !this.#deps.asksApp) return;
    this.#questions.push(
      new RouteQuestion({ ...this.#deps, app, name, route: to.route, answered: (yes) => reader.subscribe(yes) }),
    );
  }

  /** The application has come. Resolves after its first answers. */
  async #ask(): Promise<void> {
    await Promise.all(this.#questions.map((question) => question.ask()));
  }

  /** How an input binding is used; `undefined` if it is none. */
  state(name: string): InputState | undefined {
    const reader = this.#readers.get(name);
    return reader && { isRead: reader.isReading, ...this.#delivery.last(name) };
  }

  start(): void {
    for (const reader of this.#readers.values()) reader.start();
  }

  async stop(): Promise<void> {
    this.#watch?.[Symbol.dispose]();
    for (const question of this.#questions) question.stop();
    const ended = [...this.#readers.values()].map((reader) => reader.stop());
    await this.#delivery.stop();
    await Promise.all(ended);
  }
}

/** Characters that encodeURIComponent escapes although a path may contain them (RFC 3986, section 3.3). */
const MAY_STAND = /%(?:24|26|2B|2C|3A|3B|3D|40)/g;

function routeOf({ name, options }: BindingDefinition): string {
  return options.route ?? `/${encodeURIComponent(name.toWellFormed()).replace(MAY_STAND, decodeURIComponent)}`;
}
