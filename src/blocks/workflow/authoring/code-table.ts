/** Code by name. Replacements take precedence over registered code. */
export class CodeTable<Code> {
  readonly #registered = new Map<string, Code>();
  /** The last replacement of a name counts. */
  readonly #replacements = new Map<string, readonly { readonly code: Code }[]>();

  /** Whether the table has no code. */
  get isEmpty(): boolean {
    return this.#registered.size === 0 && this.#replacements.size === 0;
  }

  /** The code to run. */
  get(name: string): Code | undefined {
    return this.#replacements.get(name)?.at(-1)?.code ?? this.#registered.get(name);
  }

  /** The registered code, even if it is replaced. */
  registered(name: string): Code | undefined {
    return this.#registered.get(name);
  }

  /** The names of the registered code. */
  names(): readonly string[] {
    return [...this.#registered.keys()];
  }

  register(name: string, code: Code): void {
    this.#registered.set(name, code);
  }

  /** Replaces the code of a name, registered or not; call the returned function to undo that. */
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
