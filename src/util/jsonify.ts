/**
 * A value as JSON hands it on: a `Date` and whatever has a `toJSON` become what that answers, methods and symbols are
 * gone, `undefined` in a list is `null`. `never` for a value that is refused, such as a `Map`, a `bigint` or a function.
 * `Jsonify<{ at: Date; total(): number }>` is `{ at: string }`.
 *
 * @public
 */
export type Jsonify<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined | void
    ? T
    : T extends { toJSON(): infer Sent }
      ? Jsonify<Sent>
      : T extends
            | bigint
            | symbol
            | RegExp
            | ReadonlyMap<unknown, unknown>
            | ReadonlySet<unknown>
            | PromiseLike<unknown>
            | ArrayBuffer
            | ArrayBufferView
            | ((...args: never) => unknown)
        ? never
        : T extends readonly unknown[]
          ? {
              [Index in keyof T]: Jsonify<Exclude<T[Index], undefined>> | (undefined extends T[Index] ? null : never);
            }
          : {
              [Name in keyof T as Name extends symbol
                ? never
                : [T[Name]] extends [undefined]
                  ? Name
                  : [Exclude<T[Name], undefined>] extends [(...args: never) => unknown]
                    ? never
                    : Name]: Jsonify<T[Name]>;
            };

/**
 * The input that code takes, if JSON hands it on as it is. Else `never`, so that no call compiles: code that takes a
 * `Date` would get a text.
 *
 * @public
 */
export type JsonInput<T> = [Jsonify<T>] extends [T] ? T : never;
