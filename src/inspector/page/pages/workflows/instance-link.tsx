import { link } from '../../core/router.ts';

/** Leads to an instance. */
export function InstanceLink({ id, mark }: { readonly id: string; readonly mark: string }) {
  return (
    <a href={link(['workflows', id])} class="mono">
      {id} {mark}
    </a>
  );
}
