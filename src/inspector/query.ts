import { SidecarError } from '../errors.ts';
import { unknownField } from '../util/known-fields.ts';

/** Names the application; the handler has read it. */
const APP = 'app';

/** The parameters of a `GET`. A parameter without a value counts as absent. */
export class Query {
  readonly #params: URLSearchParams;

  /** @throws SidecarError `ERR_BAD_REQUEST` for a parameter that is not known, or is there twice. */
  constructor(params: URLSearchParams, known: readonly string[]) {
    for (const name of params.keys()) {
      if (name !== APP && !known.includes(name)) throw invalid(unknownField(name, known, 'the query'));
      if (params.getAll(name).length > 1) throw invalid(`the query has ${name} more than once: expected once`);
    }
    this.#params = params;
  }

  text(name: string): string | undefined {
    return this.#params.get(name) || undefined;
  }

  /** @throws SidecarError `ERR_BAD_REQUEST` if it is absent. */
  needed(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw invalid(`the query has no ${name}`);
    return value;
  }

  /** A whole number from 0: a count, or an instant in milliseconds since 1970. */
  number(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (!/^\d{1,15}$/.test(value)) throw unexpected(name, value, 'a whole number from 0');
    return Number(value);
  }

  flag(name: string): boolean | undefined {
    const value = this.oneOf(name, ['true', 'false']);
    return value === undefined ? undefined : value === 'true';
  }

  oneOf<Value extends string>(name: string, values: readonly Value[]): Value | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : chosen(name, value, values);
  }

  /** Several values with commas between them. */
  someOf<Value extends string>(name: string, values: readonly Value[]): readonly Value[] | undefined {
    return this.text(name)
      ?.split(',')
      .map((value) => chosen(name, value, values));
  }
}

function chosen<Value extends string>(name: string, value: string, values: readonly Value[]): Value {
  const found = values.find((one) => one === value);
  if (found === undefined) throw unexpected(name, value, `one of ${values.join(', ')}`);
  return found;
}

function unexpected(name: string, value: string, expected: string): SidecarError {
  return invalid(`${name} is ${JSON.stringify(value)}: expected ${expected}`);
}

function invalid(message: string): SidecarError {
  return new SidecarError('ERR_BAD_REQUEST', message);
}
