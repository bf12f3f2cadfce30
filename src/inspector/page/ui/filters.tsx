import { useEffect, useId, useRef } from 'preact/hooks';
import { navigate, param, withQuery } from '../core/router.ts';

export interface FilterSpec {
  /** Its name in the query. */
  readonly name: string;
  readonly label: string;
  /** Values and their titles; `''` is for all. Without them, it is free text. */
  readonly options?: readonly (readonly [value: string, title: string])[];
}

/** For filters by time; see `sinceOf`. */
export const SINCE_OPTIONS: NonNullable<FilterSpec['options']> = [
  ['', 'any time'],
  ['15m', 'last 15 minutes'],
  ['1h', 'last hour'],
  ['1d', 'last day'],
  ['7d', 'last week'],
];

/** Fields that are bound to the query of the address. */
export function Filters({ fields }: { readonly fields: readonly FilterSpec[] }) {
  const isSet = fields.some(({ name }) => param(name) !== undefined);
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {fields.map((field) => (
        <FilterField key={field.name} field={field} />
      ))}
      {isSet ? (
        <a class="button" href={withQuery(Object.fromEntries(fields.map(({ name }) => [name, undefined])))}>
          Clear
        </a>
      ) : null}
    </form>
  );
}

/** While somebody types, the way back does not stop at each letter. */
const TYPING_MS = 300;

function FilterField({ field }: { readonly field: FilterSpec }) {
  const id = useId();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const value = param(field.name) ?? '';
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (input.current !== null && document.activeElement !== input.current) input.current.value = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const apply = (text: string, isTyping: boolean) => {
    clearTimeout(timer.current);
    const go = () => navigate(withQuery({ [field.name]: text.trim() }), { replace: isTyping });
    if (isTyping) timer.current = setTimeout(go, TYPING_MS);
    else go();
  };
  return (
    <div class={`filter ${value === '' ? '' : 'is-set'}`}>
      <label for={id}>{field.label}</label>
      {field.options === undefined ? (
        <input
          id={id}
          ref={input}
          type="search"
          autocomplete="off"
          spellcheck={false}
          defaultValue={value}
          onInput={(event) => apply(event.currentTarget.value, true)}
        />
      ) : (
        <select id={id} value={value} onChange={(event) => apply(event.currentTarget.value, false)}>
          {field.options.map(([option, title]) => (
            <option key={option} value={option}>
              {title}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}
