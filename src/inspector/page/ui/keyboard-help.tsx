import { isHelpOpen } from '../core/keys.ts';
import { Dialog } from './confirm.tsx';

const KEYS: readonly (readonly [keys: readonly string[], what: string])[] = [
  [['/'], 'search'],
  [['f'], 'filters of the page'],
  [['j', 'k'], 'next and previous row'],
  [['Enter'], 'open the row'],
  [['Esc'], 'close the side panel'],
  [['.'], 'actions'],
  [['p'], 'pause or resume'],
  [['?'], 'these keys'],
];

/** The list of keys. `pages`: titles by letter. */
export function KeyboardHelp({ pages }: { readonly pages: readonly (readonly [letter: string, title: string])[] }) {
  if (!isHelpOpen.value) return null;
  const close = () => {
    isHelpOpen.value = false;
  };
  return (
    <Dialog title="Keyboard" onClose={close} isWide>
      <div class="keys">
        <KeyList keys={KEYS} />
        <KeyList keys={pages.map(([letter, title]) => [['g', letter], title] as const)} />
      </div>
      <div class="dialog-buttons">
        <button type="button" class="button primary" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function KeyList({ keys }: { readonly keys: typeof KEYS }) {
  return (
    <dl>
      {keys.map(([names, what]) => (
        <div key={what}>
          <dt>
            {names.map((name) => (
              <kbd key={name}>{name}</kbd>
            ))}
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
