import { jsonElements, jsonMembers, jsonString } from '../util/json-text.ts';

/** Makes the error for what is wrong with a request. */
type Refuse = (problem: string) => Error;

/**
 * The members of a JSON object as they are written, so that numbers keep every digit. A member that is `null` is missing;
 * of several with one name, the last one counts.
 */
export class JsonMembers {
  readonly #members = new Map<string, string>();
  readonly #what: string;
  readonly #refuse: Refuse;

  /**
   * `what` names the object in errors, which `refuse` makes. With `names`, known names by these names in lower case, a
   * member of one of them may be written in any case.
   */
  constructor(text: string, what: string, refuse: Refuse, names?: ReadonlyMap<string, string>) {
    if (!text.startsWith('{')) throw refuse(`${what} is not an object`);
    this.#what = what;
    this.#refuse = refuse;
    for (const { key, value } of jsonMembers(text)) this.#members.set(names?.get(key.toLowerCase()) ?? key, value);
  }

  /** The text of a value. */
  get(name: string): string | undefined {
    const value = this.#members.get(name);
    return value === 'null' ? undefined : value;
  }

  /** A value that is a text. */
  text(name: string): string | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (!value.startsWith('"')) throw this.#refuse(`${this.#what}.${name} is not a text`);
    return jsonString(value);
  }

  /** The texts of the elements of a list. */
  list(name: string): readonly string[] | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (!value.startsWith('[')) throw this.#refuse(`${this.#what}.${name} is not a list`);
    return jsonElements(value);
  }
}
