import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { Notice } from '../ui/states.tsx';

/** A page whose code is loaded when it is opened first: the export of this name of a module. */
export function lazy<Name extends string>(
  load: () => Promise<Readonly<Record<Name, ComponentType>>>,
  name: Name,
): ComponentType {
  const loaded = signal<ComponentType | undefined>(undefined);
  const isMissing = signal(false);
  return function Lazy() {
    useEffect(() => {
      if (loaded.value !== undefined) return;
      load().then(
        (module) => (loaded.value = module[name]),
        () => (isMissing.value = true),
      );
    }, []);
    if (loaded.value !== undefined) return <loaded.value />;
    if (!isMissing.value) return <p class="loading">Loading…</p>;
    return (
      <Notice tone="bad">
        This page could not be loaded: the application may have been replaced by another version.
        <button type="button" class="button" onClick={() => location.reload()}>
          Load again
        </button>
      </Notice>
    );
  };
}
