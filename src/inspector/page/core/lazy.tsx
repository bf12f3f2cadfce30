import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { Notice } from '../ui/states.tsx';

/** A page whose code is loaded when it is opened first. */
export function lazy(load: () => Promise<ComponentType>): ComponentType {
  const loaded = signal<ComponentType | undefined>(undefined);
  const isMissing = signal(false);
  const take = async () => {
    try {
      loaded.value = await load();
    } catch {
      isMissing.value = true;
    }
  };
  return function Lazy() {
    useEffect(() => {
      if (loaded.value === undefined) void take();
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
