/** Code by name. What stands in for the code of a name is found before what is registered. */
export class CodeTable<Code> {
  readonly #registered = new Map<string, Code>();
  /** The last one of a name counts. */
  readonly #replacements = new Map<string, readonly { readonly code: Code }[]>();

  /** Whether there is no code at all. */
  get isEmpty(): boolean {
    return this.#registered.size === 0 && this.#replacements.size === 0;
  }

  /** What is to be run. */
  get(name: string): Code | undefined {
    return this.#replacements.get(name)?.at(-1)?.code ?? this.#registered.get(name);
  }

  /** What is registered, whatever stands in for it. */
  registered(name: string): Code | undefined {
    return this.#registered.get(name);
  }

  register(name: string, code: Code): void {
    this.#registered.set(name, code);
  }

  /** Has other code stand in for that of a name, registered or not; answers how to take it back. */
  replace(name: string, code: Code): () => void {
    const replacement = { code };
    this.#replacements.set(name, [...(this.#replacements.get(name) ?? []), replacement]);
    return () => {
      const left = this.#replacements.get(name)?.filter((one) => one !== replacement) ?? [];
      if (left.length > 0) this.#replacements.set(name, left);
      else this.#replacements.delete(name);
    };
  }
}
